# scripts/docs-tables.sh: the tables of the documents, table_NAME each, printed from committed files. Sourced by docs.sh, which
# has set $work. Where a result is not there yet the cell is a dash.
#
# prepare_tables makes from those files, in $work:
#
#   h200.csv   kernel,params,type,compute,size,staged,gflops,pct_peak,ratio,time_ms,h2d_ms,d2h_ms,peer_gflops
#   model.csv  case,gpu,kernel,params,size,name,value
#
# Parameters are without those that are the kernel's own anyway, so that rows of different files meet.

# What every program below shares: cells, numbers, names of parameters.
awk_tables='
    function cell(value, format) { return value == "" ? "–" : sprintf(format, value) }
    function spare(kernel, params) {
        gsub(/[,;]/, " ", params)
        if (kernel ~ /^simt_0[1-4]/ && params == "BX=32 BY=32") return ""
        if (kernel ~ /^simt_0[56]/) sub(/^TILE=32 ?/, "", params)
        if (kernel ~ /^simt_08/ && params == "TILE=16") return ""
        return params
    }
    function read_h200(file,    line, f) {
        while ((getline line < file) > 0) {
            split(line, f, ",")
            key = f[1] SUBSEP f[2] SUBSEP f[3] SUBSEP f[4] SUBSEP f[5] SUBSEP f[6]
            if (key in rate) continue
            rate[key] = f[7]; peak[key] = f[8]; ratio[key] = f[9]; ms[key] = f[10]; h2d[key] = f[11]; d2h[key] = f[12]
            peer[key] = f[13]
        }
    }
    function at(kernel, params, type, compute, size, staged) {
        key = kernel SUBSEP spare(kernel, params) SUBSEP type SUBSEP compute SUBSEP size SUBSEP staged
        return key
    }
    function warm(kernel, params, size) { return at(kernel, params, "f32", "default", size, "no") }
    function read_model(file,    line, f) {
        while ((getline line < file) > 0) {
            split(line, f, ",")
            said[f[1], f[2], f[3], f[4], f[5], f[6]] = f[7]
            if (f[6] == "ceiling of arithmetic  GFLOPS") card_peak[f[2]] = f[7]
        }
    }
    function model(gpu, kernel, params, size, name) { return said["", gpu, kernel, spare(kernel, params), size, name] }
    function read_predictions(file,    line, f) {
        while ((getline line < file) > 0) {
            split(line, f, ",")
            predicted[f[2], f[3], spare(f[3], f[4]), f[6]] = f[8]
        }
    }'

# tables PROGRAM [INPUT...]: awk with all of that read.
tables() {
    program=$1
    shift
    awk -F, -v h200="$work/h200.csv" -v explained="$work/model.csv" -v predictions=bench/model/predictions.csv "$awk_tables
        BEGIN { read_h200(h200); read_model(explained); read_predictions(predictions) }
        $program" "$@"
}

prepare_tables() {
    results=bench/results/h200
    for file in ladder-f32 ladder-f64 ladder-i32 documents tile modes; do
        [ ! -e "$results/$file.csv" ] || plain_csv "$results/$file.csv"
    done | awk -F, "$awk_tables"'
        $1 == "schema" { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["mode"] != "continuous" || $column["cache"] != "warm" { next }
        $column["m"] == $column["n"] && $column["n"] == $column["k"] {
            kernel = $column["kernel"]
            printf "%s,%s,%s,%s,%s,%s", kernel, spare(kernel, $column["params"]), $column["type"], $column["compute"], $column["m"],
                   $column["h2d_ms"] == "" ? "no" : "staged"
            printf ",%s,%s,%s,%s,%s,%s,%s\n", $column["gflops"], $column["pct_peak"], $column["ratio"], $column["time_ms"],
                   $column["h2d_ms"], $column["d2h_ms"], $column["peer_gflops"]
        }' >"$work/h200.csv"
    plain_csv bench/model/explained.csv | awk -F, "$awk_tables"'
        NR > 1 {
            name = $6 == "counters as compiled" ? "compiled " $7 : $7
            printf "%s,%s,%s,%s,%s,%s,%s\n", $1, $2, $3, spare($3, $4), $5, name, $8
        }' >"$work/model.csv"
    plain_csv bench/published/documents.csv >"$work/documents.csv"
    plain_csv bench/published/figures.csv >"$work/figures.csv"
}

# ---- The ladder ----

no_results() { echo 'No results are kept yet.'; }

# One row for each rung: its rate by size in f32, against cuBLAS and the peak at 4096, and its rate there in the other types.
table_results() {
    [ -e bench/results/h200/ladder-f32.csv ] || { no_results; return; }
    echo '| rung | 512 | 1024 | 2048 | 4096 | 8192 | of cuBLAS at 4096 | of the peak | f64 at 4096 | i32 at 4096 |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
    for file in kernels/simt_*.cu; do basename "$file" .cu; done | tables '{
        kernel = $1
        line = "| " kernel
        for (size = 512; size <= 8192; size *= 2) line = line " | " cell(rate[warm(kernel, "", size)], "%.0f")
        line = line " | " cell(ratio[warm(kernel, "", 4096)], "%.2f") " | " cell(peak[warm(kernel, "", 4096)], "%.0f%%")
        f64 = rate[at(kernel, "", "f64", "default", 4096, "no")]
        i32 = rate[at(kernel, "", "i32", "default", 4096, "no")]
        print line " | " cell(f64, "%.0f") " | " cell(i32, "%.0f") " |"
    }' -
}

# The same for the README: what a rung is, by the first line of its file, and how fast. That for batches has no place there.
table_readme() {
    [ -e bench/results/h200/ladder-f32.csv ] || { no_results; return; }
    echo '| rung | what it is | GFLOPS at 1024 | at 4096 | of cuBLAS at 4096 |'
    echo '|---|---|---|---|---|'
    for file in kernels/simt_*.cu; do sed -n '1s/^\/\* \([a-z0-9_]*\): \(.*\)$/\1,\2/p' "$file"; done | tables '{
        kernel = $1
        if (rate[warm(kernel, "", 4096)] == "") next
        sub(/^[^,]*,/, "")
        print "| " kernel " | " $0 " | " cell(rate[warm(kernel, "", 1024)], "%.0f") " | " cell(rate[warm(kernel, "", 4096)], "%.0f") \
            " | " cell(ratio[warm(kernel, "", 4096)], "%.2f") " |"
    }' -
}

# Tensor cores: TFLOPS of every rung by type, sample after sample.
table_mma() {
    echo '| rung | bf16 1024 | 2048 | 4096 | 8192 | of cuBLAS at 4096 | i8 4096 | of cuBLAS | f32 as TF32 4096 | of cuBLAS |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
    results_rows ladder-mma.csv '
        function rate_of(type, size) { return cell(tera[kernel, type, size], "%.0f") }
        function ratio_of(type) { return cell(ratios[kernel, type, 4096], "%.2f") }
        of("kernel") ~ /^mma_/ && of("mode") == "continuous" {
            kernel = of("kernel")
            if (!(kernel in seen)) { seen[kernel] = 1; order[++count] = kernel }
            tera[kernel, of("type"), of("m")] = of("gflops") / 1000
            ratios[kernel, of("type"), of("m")] = of("ratio")
        }
        END {
            for (i = 1; i <= count; i++) {
                kernel = order[i]
                line = "| " kernel
                for (size = 1024; size <= 8192; size *= 2) line = line " | " rate_of("bf16", size)
                print line " | " ratio_of("bf16") " | " rate_of("i8", 4096) " | " ratio_of("i8") " | " rate_of("f32", 4096) " | " \
                    ratio_of("f32") " |"
            }
        }'
}

# beside FILE WHICH TITLE: rows of a file whose awk condition WHICH holds, beside cuBLAS, in TFLOPS.
beside() {
    echo "| $3 | m×n×k | layout | TFLOPS | cuBLAS | ratio |"
    echo '|---|---|---|---|---|---|'
    results_rows "$1" "
        $2"' {
            name = of("kernel")
            sub(/^auto:/, "", name)
            if (of("params") != "") name = name " " of("params")
            shape = of("m") == of("n") && of("n") == of("k") ? of("m") "³" : of("m") "×" of("n") "×" of("k")
            how = (of("compute") == "tf32" ? " as TF32" : "") (of("mode") == "sustained" ? ", sustained" : "")
            printf "| %s, %s%s | %s | %s | %s | %s | %s |\n", name, of("type"), how, shape, of("layout"),
                   cell(of("gflops") / 1000, "%.0f"), of("peer_gflops") == "" ? "–" : cell(of("peer_gflops") / 1000, "%.0f"),
                   cell(of("ratio"), "%.2f")
        }'
}

# The top of that ladder in bursts.
table_mma_bursts() { beside ladder-mma.csv 'of("mode") == "burst"' 'in bursts'; }

# The ladder of wgmma, in bursts.
table_wgmma() {
    echo '| rung, bf16 | 4096 | of cuBLAS | 8192 | of cuBLAS |'
    echo '|---|---|---|---|---|'
    results_rows tensor.csv '
        of("kernel") ~ /^wgmma_/ {
            kernel = of("kernel") (of("compute") == "tf32" ? ", f32 as TF32" : "")
            if (!(kernel in seen)) { seen[kernel] = 1; order[++count] = kernel }
            tera[kernel, of("m")] = of("gflops") / 1000
            ratios[kernel, of("m")] = of("ratio")
        }
        function both(size) { return " | " cell(tera[order[i], size], "%.0f") " | " cell(ratios[order[i], size], "%.2f") }
        END { for (i = 1; i <= count; i++) print "| " order[i] both(4096) both(8192) " |" }' | sort
}

# What the planner takes, in all types; then awkward shapes.
table_hopper() {
    beside tensor.csv 'of("kernel") ~ /^auto:/ && of("m") % 1024 == 0' 'kernel, type'
}
table_awkward() { beside tensor.csv 'of("kernel") ~ /^auto:/ && of("m") % 1024 != 0' 'kernel, type'; }

# Small, thin and unaligned products.
table_small() {
    echo '| product | kernel | time | cuBLAS | ratio |'
    echo '|---|---|---|---|---|'
    results_rows small.csv '{
        name = of("m") == of("n") && of("n") == of("k") ? of("m") "³" : of("m") "×" of("n") "×" of("k")
        if (of("batch") > 1) name = of("batch") " of " name
        kernel = of("kernel")
        sub(/^auto:/, "", kernel)
        printf "| %s%s %s%s | %s | %.2f µs | %.2f µs | %.2f |\n", of("type"), of("compute") == "tf32" ? ", TF32 allowed" : "", name,
               of("layout") == "nn" ? "" : " " of("layout"), kernel, of("time_ms") * 1000, of("peer_ms") * 1000, of("ratio")
    }'
}

# planned FILE: products as the planner takes them; and single calls, which plan, launch and wait.
planned() {
    [ -e "bench/results/h200/$1" ] || { no_results; return; }
    echo '| m×n×k | kernel | time | TFLOPS | cuBLAS | ratio | one call | of cuBLAS |'
    echo '|---|---|---|---|---|---|---|---|'
    results_rows "$1" '
        function micro(ms) { return ms == "" ? "–" : ms * 1000 < 100 ? sprintf("%.1f µs", ms * 1000) : sprintf("%.0f µs", ms * 1000) }
        {
            shape = of("m") == of("n") && of("n") == of("k") ? of("m") "³" : of("m") "×" of("n") "×" of("k")
            if (of("layout") != "nn") shape = shape " " of("layout")
            if (of("kernel") == "cublas") { theirs[shape] = of("call_ms"); next }
            name = of("kernel")
            sub(/^auto:/, "", name)
            order[++count] = shape
            line[shape] = "| " shape " | " name " | " micro(of("time_ms")) " | " cell(of("gflops") / 1000, "%.3g") " | " \
                cell(of("peer_gflops") / 1000, "%.3g") " | " cell(of("ratio"), "%.2f")
            ours[shape] = of("call_ms")
        }
        END { for (i = 1; i <= count; i++) print line[order[i]] " | " micro(ours[order[i]]) " | " micro(theirs[order[i]]) " |" }'
}
# f32 by multiply-adds alone; and f64.
table_strict() { planned true-fp32.csv; }
table_f64() { planned f64.csv; }

# Batches of small products, as the planner takes them: in f32, with A or B turned, and in f64.
table_batches() {
    echo '| products | kernel | time | of memory, TB/s | cuBLAS | ratio | nt | tn | tt | f64 |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
    results_rows batches.csv '
        {
            name = of("m") "³ × " of("batch")
            if (of("type") == "f64") { wide[name] = of("ratio"); next }
            if (of("layout") != "nn") { turned[name, of("layout")] = of("ratio"); next }
            kernel = of("kernel")
            sub(/^auto:/, "", kernel)
            order[++count] = name
            bytes = 4 * of("batch") * (of("m") * of("k") + of("k") * of("n") + of("m") * of("n"))
            line[name] = "| " name " | " kernel " | " sprintf("%.1f µs", of("time_ms") * 1000) " | " sprintf("%.1f", bytes / of("time_ms") / 1e9) \
                " | " sprintf("%.1f µs", of("peer_ms") * 1000) " | " cell(of("ratio"), "%.2f")
        }
        END {
            for (i = 1; i <= count; i++) {
                name = order[i]
                print line[name] " | " cell(turned[name, "nt"], "%.2f") " | " cell(turned[name, "tn"], "%.2f") " | " \
                    cell(turned[name, "tt"], "%.2f") " | " cell(wide[name], "%.2f") " |"
            }
        }'
}

# Of both the products that are not turned, as the planner takes them.
table_beyond() {
    echo '| product | tessera | cuBLAS | ratio |'
    echo '|---|---|---|---|'
    for file in f64.csv batches.csv; do
        results_rows $file '
            of("layout") == "nn" && of("ratio") != "" {
                name = of("m") == of("n") && of("n") == of("k") ? of("m") "³" : of("m") "×" of("n") "×" of("k")
                if (of("batch") > 1) name = of("batch") " of " name
                print "| " of("type") " " name " | " speed("time_ms", "gflops") " | " speed("peer_ms", "peer_gflops") " | " sprintf("%.2f", of("ratio")) " |"
            }
            function speed(ms, gflops) {
                return of("batch") > 1 || of("m") < 1000 ? sprintf("%.1f µs", of(ms) * 1000) : sprintf("%.1f TFLOPS", of(gflops) / 1000)
            }'
    done
}

# ---- How numbers are taken ----

# results_rows FILE PROGRAM: awk over the rows of a file of bench/results/h200, with the columns by name in `column`.
results_rows() {
    [ -e "bench/results/h200/$1" ] || { no_results; return; }
    plain_csv "bench/results/h200/$1" | awk -F, "$awk_tables
        !named { for (i = 1; i <= NF; i++) column[\$i] = i; named = 1; next }
        function of(name) { return \$column[name] }
        $2"
}

# One product of cuBLAS driven in three ways: TFLOPS, and MHz.
table_modes() {
    echo '| cuBLAS | burst | MHz | continuous | MHz | sustained | MHz |'
    echo '|---|---|---|---|---|---|---|'
    results_rows modes.csv '
        of("kernel") == "cublas" {
            name = of("type") ", " of("m")
            if (!(name in seen)) { seen[name] = 1; order[++count] = name }
            tera[name, of("mode")] = of("gflops") / 1000
            clock[name, of("mode")] = of("clock_mhz")
        }
        function both(mode) { return " | " cell(tera[order[i], mode], "%.1f") " | " cell(clock[order[i], mode], "%.0f") }
        END { for (i = 1; i <= count; i++) print "| " order[i] both("burst") both("continuous") both("sustained") " |" }'
}

# The same products with the caches emptied before each, and without.
table_cold() {
    echo '| `auto`, f32 | warm, ms | cold, ms | cold : warm |'
    echo '|---|---|---|---|'
    results_rows modes.csv '
        of("kernel") ~ /^auto/ && of("mode") == "continuous" {
            size = of("m")
            if (of("cache") == "cold") order[++count] = size
            ms[size, of("cache")] = of("time_ms")
        }
        END {
            for (i = 1; i <= count; i++) {
                size = order[i]; warm_ms = ms[size, "warm"]; cold_ms = ms[size, "cold"]
                printf "| %s | %s | %.4f | %s |\n", size, cell(warm_ms, "%.4f"), cold_ms, cell(warm_ms == "" ? "" : cold_ms / warm_ms, "%.2f")
            }
        }'
}

# cuBLAS by the clock of PyTorch and by ours.
table_torch() {
    echo '| cuBLAS | PyTorch, ms | `tessera bench 0`, ms | ratio | clocks |'
    echo '|---|---|---|---|---|'
    results_rows torch.csv '
        {
            off = of("ratio") - 1
            if (off < 0) off = -off
            if (off > worst) worst = off
            printf "| %s, %s | %.4f | %.4f | %.4f | %.0f MHz%s |\n", of("type"), of("m"), of("torch_ms"), of("tessera_ms"), of("ratio"),
                   of("clock_mhz"), of("throttled") == "" ? "" : ", held back: " of("throttled")
        }
        END { printf "\nThe largest difference is %.2f %%.\n", 100 * worst }'
}

# ---- The model ----

# summary SET GPU LEAST: median and worst of the errors, for sizes from LEAST on.
summary() {
    awk -F, -v set="$1" -v gpu="$2" -v least="$3" '$1 == set && $2 == gpu && $6 + 0 >= least { print $9 < 0 ? -$9 : $9 }' \
        bench/model/predictions.csv | sort -n |
        awk '{ e[NR] = $1 } END { printf "median %.1f %%, worst %.1f %%", (e[int((NR + 1) / 2)] + e[int(NR / 2) + 1]) / 2, e[NR] }'
}

# errors TITLE SET GPU LEAST: a table of its own with the sizes from LEAST on, and the errors of these and of all.
errors() {
    printf '### %s\n\n| rung | parameters | type | size | measured | predicted | error |\n|---|---|---|---|---|---|---|\n' "$1"
    awk -F, -v set="$2" -v gpu="$3" -v least="$4" '$1 == set && $2 == gpu && $6 + 0 >= least {
        printf "| %s | %s | %s | %s | %.0f | %.0f | %+.0f %% |\n", $3, $4, $5, $6, $7, $8, $9 }' bench/model/predictions.csv
    printf '\nSize of the errors: %s.' "$(summary "$2" "$3" "$4")"
    [ "$4" = 0 ] || printf ' With the sizes from 128 on that the table leaves out: %s.' "$(summary "$2" "$3" 0)"
    printf '\n'
}

table_predictions() {
    sed -n '1s/^# registers by \(.*\)$/With registers by \1./p' bench/model/predictions.csv
    for type in f32 f64 i32; do echo; errors "H200, $type" "h200-$type" H200 2048; done
    for gpu in 'Tesla P100' 'Quadro P4000' 'GTX 1650' 'RTX 3070 Laptop'; do
        echo
        errors "$gpu, published" published "$gpu" 0
    done
}
