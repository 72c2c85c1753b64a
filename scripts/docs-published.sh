# scripts/docs-published.sh: the tables that set what others published beside the model and the H200, for docs/LADDER.md. Sourced
# by docs.sh, after docs-tables.sh.

# ---- The guide to the Tesla P100 ----

# Bounds at 1K, 8K and 16K: what A, B and C once and 2n³ operations take at least, what the model says binds, and the rates.
table_p100() {
    echo '| kernel | size | FLOP/byte at L2 | P100: least ms by DRAM | by arithmetic | bound by | model | published | H200: bound by | model | measured | of the peak |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
    tables '
        FNR == NR && $2 == "device" && $1 == "p100-guide" && $10 == "bandwidth" { bandwidth = $11 }
        FNR != NR && $1 == "p100-guide" { published[$4, spare($4, $5), $8] = $11 }
        function row(label, kernel, params, size,    memory, arithmetic, line) {
            memory = 3 * size * size * 4 / bandwidth / 1e6
            arithmetic = 2 * size * size * size / card_peak["Tesla P100"] / 1e6
            line = "| " label " | " size " | " cell(model("Tesla P100", kernel, params, size, "FLOP per byte at L2"), "%.1f")
            line = line " | " cell(memory, "%.2f") " | " cell(arithmetic, "%.2f")
            line = line " | " model("Tesla P100", kernel, params, size, "bound by")
            line = line " | " cell(model("Tesla P100", kernel, params, size, "predicted GFLOPS"), "%.0f")
            line = line " | " cell(published[kernel, spare(kernel, params), size], "%.0f")
            line = line " | " model("H200", kernel, params, size, "bound by")
            line = line " | " cell(model("H200", kernel, params, size, "predicted GFLOPS"), "%.0f")
            line = line " | " cell(rate[warm(kernel, params, size)], "%.0f") " | " cell(peak[warm(kernel, params, size)], "%.0f %%")
            print line " |"
        }
        END {
            split("1024 8192 16384", sizes, " ")
            for (i = 1; i <= 3; i++) row("naive: `simt_02_coalesced`", "simt_02_coalesced", "", sizes[i])
            for (i = 1; i <= 3; i++) row("level 1: `simt_05_shared`, TILE 16", "simt_05_shared", "TILE=16", sizes[i])
            for (i = 1; i <= 3; i++) row("level 2: `simt_05_shared`, TILE 32", "simt_05_shared", "TILE=32", sizes[i])
            for (i = 1; i <= 3; i++) row("level 3: `simt_08_strided4x4`", "simt_08_strided4x4", "", sizes[i])
        }' "$work/figures.csv" "$work/documents.csv"
}

# What the guide says of resources, beside what the compiler and the counters say, at 16384 on the P100.
table_p100_resources() {
    echo '| | TILE 16 | TILE 32 | 4×4 |'
    echo '|---|---|---|---|'
    tables '
        function one(kernel, params, name, unit,    value) {
            value = model("Tesla P100", kernel, params, 16384, name)
            return cell(value == "" ? "" : value / unit, "%.0f")
        }
        function row(label, name, unit,    line) {
            line = "| " label " | " one("simt_05_shared", "TILE=16", name, unit) " | " one("simt_05_shared", "TILE=32", name, unit)
            print line " | " one("simt_08_strided4x4", "", name, unit) " |"
        }
        BEGIN {
            row("shared memory of a block, bytes", "shared bytes of a block", 1)
            row("registers of a thread", "registers of a thread", 1)
            row("spilled bytes of a thread", "spilled bytes of a thread", 1)
            row("occupancy, %", "occupancy  %", 1)
            row("barriers", "barriers", 1)
            row("load requests, millions", "global_load_requests", 1e6)
            row("shared loads as compiled, millions", "compiled shared_load_instructions", 1e6)
        }'
}

# ---- The guide to shared memory ----

table_reads() {
    echo '| at 4096 | basic, 16×16 threads | shared, TILE 16 | shared, TILE 32 |'
    echo '|---|---|---|---|'
    tables '
        function row(label, name, format, divide,    line, i, value) {
            line = "| " label
            for (i = 1; i <= 3; i++) {
                value = model("H200", kernel[i], params[i], 4096, name)
                line = line " | " cell(value == "" ? "" : value / divide, format)
            }
            print line " |"
        }
        BEGIN {
            split("simt_02_coalesced simt_05_shared simt_05_shared", kernel, " ")
            split("BX=16 BY=16/TILE=16/TILE=32", params, "/")
            row("times that each element of A, and of B, is asked for", "global_load_bytes", "%.0f", 4 * 2 * 4096 * 4096)
            row("load requests of warps, millions", "global_load_requests", "%.0f", 1e6)
            row("sectors of 32 bytes, millions", "global_load_sectors", "%.0f", 1e6)
            row("FLOP per byte at L2, each block once", "FLOP per byte at L2", "%.1f", 1)
            row("model for an H200, GFLOPS", "predicted GFLOPS", "%.0f", 1)
            line = "| H200, GFLOPS"
            for (i = 1; i <= 3; i++) line = line " | " cell(rate[warm(kernel[i], params[i], 4096)], "%.0f")
            print line " |"
            basic = rate[warm(kernel[1], params[1], 4096)]
            line = "| times the basic version"
            for (i = 1; i <= 3; i++) {
                value = rate[warm(kernel[i], params[i], 4096)]
                line = line " | " (basic == "" || value == "" ? "–" : sprintf("%.2f", value / basic))
            }
            print line " |"
        }'
}

# ---- The report from the Quadro P4000 ----

table_p4000() {
    echo '| version | here | 512: published | model | H200 | 1024: published | model | H200 | 2048: published | model | H200 |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|'
    awk -F, '$1 == "p4000-report" { print $2 "," $4 "," $5 "," $8 "," $11 }' "$work/documents.csv" >"$work/p4000"
    awk -F, '$1 == "p4000-report" && $10 == "rate" { print $2 "," $4 "," $5 "," $7 "," $11 }' "$work/figures.csv" >>"$work/p4000"
    sort -s -t , -k 1,1 -k 3,3 "$work/p4000" | tables '
        {
            name = $1 SUBSEP $2 SUBSEP $3
            if (!(name in seen)) { seen[name] = 1; order[++count] = name }
            published[name, $4] = $5
        }
        END {
            for (i = 1; i <= count; i++) {
                split(order[i], part, SUBSEP)
                line = "| " part[1] " | `" part[2] "` " part[3]
                for (size = 512; size <= 2048; size *= 2) {
                    line = line " | " cell(published[order[i], size], "%.0f")
                    line = line " | " cell(predicted["Quadro P4000", part[2], spare(part[2], part[3]), size], "%.0f")
                    line = line " | " cell(rate[warm(part[2], part[3], size)], "%.0f")
                }
                print line " |"
            }
        }' -
}

# V6 as it was published, beside what it claims to be.
table_p4000_prefetch() {
    echo '| at 2048 | V3: `simt_05_shared` | V6 as published: `unused_prefetch` | a prefetch that is used: `simt_06_prefetched`, PAD 1 | the same without padding |'
    echo '|---|---|---|---|---|'
    tables '
        function of(column, name) {
            if (column == 2) return said["unused_prefetch", "Quadro P4000", "simt_06_prefetched", "PAD=1", 2048, name]
            return model("Quadro P4000", kernel[column], params[column], 2048, name)
        }
        function row(label, name, unit,    line, i, value) {
            line = "| " label
            for (i = 1; i <= 4; i++) {
                value = of(i, name)
                line = line " | " cell(value == "" ? "" : value / unit, "%.0f")
            }
            print line " |"
        }
        BEGIN {
            kernel[1] = "simt_05_shared"; kernel[3] = kernel[4] = "simt_06_prefetched"
            params[1] = "TILE=32"; params[3] = "TILE=32 PAD=1"; params[4] = "TILE=32"
            row("global load requests, thousands", "global_load_requests", 1e3)
            row("shared loads as written, thousands", "shared_load_instructions", 1e3)
            row("their wavefronts: as many, so no conflict", "shared_load_wavefronts", 1e3)
            row("shared loads as compiled, thousands", "compiled shared_load_instructions", 1e3)
            row("their wavefronts", "compiled shared_load_wavefronts", 1e3)
            row("registers of a thread", "registers of a thread", 1)
            row("model for the P4000, GFLOPS", "predicted GFLOPS", 1)
            line = "| H200 at 2048, GFLOPS"
            for (i = 1; i <= 4; i++) line = line " | " (i == 2 ? "–" : cell(rate[warm(kernel[i], params[i], 2048)], "%.0f"))
            print line " |"
        }'
}

# ---- The journey on a GTX 1650 ----

table_gtx1650() {
    echo '| size | cuBLAS, published | Kernel 5, published | of cuBLAS | model for it | H200: cuBLAS | `simt_09_tile2d` | of cuBLAS |'
    echo '|---|---|---|---|---|---|---|---|'
    tables '
        $1 == "gtx1650-journey" { published[$4, $8] = $11 }
        END {
            for (size = 128; size <= 4096; size *= 2) {
                theirs = published["simt_09_tile2d", size]; blas = published["cublas", size]
                ours = warm("simt_09_tile2d", "", size)
                line = "| " size " | " cell(blas, "%.1f") " | " cell(theirs, "%.1f") " | " sprintf("%.0f %%", 100 * theirs / blas)
                line = line " | " cell(predicted["GTX 1650", "simt_09_tile2d", "", size], "%.0f") " | " cell(peer[ours], "%.0f")
                print line " | " cell(rate[ours], "%.0f") " | " cell(ratio[ours] == "" ? "" : 100 * ratio[ours], "%.0f %%") " |"
            }
        }' "$work/documents.csv"
}

# Kernels 1 to 7 on the H200: percent of cuBLAS.
table_journey() {
    echo '| kernel there | here | 128 | 256 | 512 | 1024 | 2048 | 4096 | GFLOPS at 4096 |'
    echo '|---|---|---|---|---|---|---|---|---|'
    printf '%s\n' '1 naive,simt_01_uncoalesced,' '2 coalescing,simt_02_coalesced,' '3 shared memory,simt_05_shared,' \
        '4 1D block tiling,simt_07_tile1d,' '5 2D block tiling,simt_09_tile2d,' '6 vectorized,simt_10_vectorized,' \
        '6 with its padding,simt_10_vectorized,PAD=5' '7 warp tiling,simt_11_warptile,' | tables '{
            line = "| Kernel " $1 " | `" $2 "` " $3
            for (size = 128; size <= 4096; size *= 2) {
                value = ratio[warm($2, $3, size)]
                line = line " | " cell(value == "" ? "" : 100 * value, "%.1f %%")
            }
            print line " | " cell(rate[warm($2, $3, 4096)], "%.0f") " |"
        }' -
}

# ---- The lab report from an RTX 3070 Laptop ----

# The facts of the card, beside those of the H200 in environment.json.
table_lab_device() {
    echo '| | RTX 3070 Laptop, published | H200 |'
    echo '|---|---|---|'
    tr -d ' ",' <bench/results/h200/environment.json | sed -n '/"*devices/,$p' | awk -F: '
        !($1 in fact) { fact[$1] = $2 }
        END { for (name in fact) print name "," fact[name] }' >"$work/facts"
    awk -F, '
        function row(label, name, key, divide, format) {
            printf "| %s | %s | %s |\n", label, there[name], fact[key] == "" ? "–" : sprintf(format, fact[key] / divide)
        }
        NR == FNR { fact[$1] = $2; next }
        $1 == "rtx3070-lab" && $2 == "device" { there[$10] = $11 }
        END {
            row("compute capability", "compute capability", "compute_capability", 1, "%.1f")
            row("global memory, MB", "global memory", "memory", 1048576, "%.0f")
            row("multiprocessors", "multiprocessors", "cores", 1, "%d")
            row("warp, threads", "warp size", "warp", 1, "%d")
            row("threads of a multiprocessor", "threads of a multiprocessor", "max_threads_per_sm", 1, "%d")
            row("warps of a multiprocessor", "warps of a multiprocessor", "max_threads_per_sm", 32, "%d")
            row("threads of a block", "threads of a block", "max_threads_per_block", 1, "%d")
            row("shared memory of a block, KB", "shared memory of a block", "shared_per_block", 1024, "%d")
            row("shared memory of a multiprocessor, KB", "shared memory of a multiprocessor", "shared_per_sm", 1024, "%d")
            row("registers of a block", "registers of a block", "registers_per_block", 1, "%d")
            row("L2 cache, KB", "L2 cache", "l2", 1024, "%d")
            row("memory bus, bits", "memory bus", "memory_bus_bits", 1, "%d")
            row("memory clock, MHz", "memory clock", "memory_clock_mhz", 1, "%d")
            row("bandwidth, GB/s", "bandwidth", "gbytes_s_all", 1, "%.0f")
            row("FP32 peak, GFLOPS", "peak", "f32_gflops_all", 1, "%.0f")
        }' "$work/facts" "$work/figures.csv"
}

# Copies, kernel and total, float and int, at 8192.
table_lab_rows() {
    echo '| | type | published: to the card, ms | kernel | back | total | model: kernel | H200: to the card, ms | kernel | back | total |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|'
    tables '
        $1 == "rtx3070-lab" { figure[$4, $6, $10] = $11 }
        function row(label, kernel, type,    warm_ms, staged, line) {
            staged = at(kernel, "", type, "default", 8192, "staged")
            warm_ms = ms[at(kernel, "", type, "default", 8192, "no")]
            line = "| " label " | " type " | " cell(figure[kernel, type, "host to device"], "%.2f")
            line = line " | " cell(figure[kernel, type, "kernel"], "%.2f") " | " cell(figure[kernel, type, "device to host"], "%.2f")
            line = line " | " cell(figure[kernel, type, "total"], "%.2f")
            line = line " | " cell(said[type == "f32" ? "" : type, "RTX 3070 Laptop", kernel, "", 8192, "predicted ms"], "%.0f")
            line = line " | " cell(h2d[staged], "%.1f") " | " cell(warm_ms, "%.1f") " | " cell(d2h[staged], "%.1f")
            print line " | " cell(ms[staged], "%.1f") " |"
        }
        END {
            row("MatmulXrow: `simt_01_uncoalesced`", "simt_01_uncoalesced", "f32")
            row("", "simt_01_uncoalesced", "i32")
            row("MatmulYrow: `simt_02_coalesced`", "simt_02_coalesced", "f32")
            row("", "simt_02_coalesced", "i32")
        }' "$work/figures.csv"
}

# Arithmetic intensity as it is worked out on paper, and what it is worth.
table_lab_intensity() {
    echo '| at 8192 | MatmulYrow | tiles 16×16 | tiles 32×32 |'
    echo '|---|---|---|---|'
    tables '
        FNR == NR && $1 == "rtx3070-lab" { figure[$4, $5, $10] = $11 }
        FNR != NR && $1 == "rtx3070-lab" { published[$4, $5] = $11 }
        function line_of(label, a, b, c) { print "| " label " | " a " | " b " | " c " |" }
        function laptop(i, name) { return model("RTX 3070 Laptop", kernel[i], params[i], 8192, name) }
        function every(label, name, format) {
            line_of(label, cell(laptop(1, name), format), cell(laptop(2, name), format), cell(laptop(3, name), format))
        }
        END {
            split("simt_02_coalesced simt_05_shared simt_05_shared", kernel, " ")
            params[1] = ""; params[2] = "TILE=16"; params[3] = "TILE=32"
            line_of("FLOP per distinct byte, published", figure[kernel[1], "", "intensity"], "–", figure[kernel[3], "TILE=32", "intensity"])
            every("the same, counted", "FLOP per distinct byte", "%.5g")
            every("FLOP per byte at L2: a block takes nothing twice", "FLOP per byte at L2", "%.4g")
            every("FLOP per byte at DRAM, at best", "FLOP per byte at DRAM", "%.5g")
            every("memory decides below", "memory decides below FLOP/byte", "%.4g")
            every("occupancy, RTX 3070 Laptop", "occupancy  %", "%.3g %%")
            line_of("bound by", laptop(1, "bound by"), laptop(2, "bound by"), laptop(3, "bound by"))
            every("model for the laptop, GFLOPS", "predicted GFLOPS", "%.0f")
            line_of("published, GFLOPS", published[kernel[1], ""], published[kernel[2], "TILE=16"], published[kernel[3], "TILE=32"])
            line = "| H200, GFLOPS"
            for (i = 1; i <= 3; i++) line = line " | " cell(rate[warm(kernel[i], params[i], 8192)], "%.0f")
            print line " |"
        }' "$work/figures.csv" "$work/documents.csv"
}

# From tiles to warps and the library, at 8192.
table_lab() {
    echo '| there | here | published | of 32×32 tiles | of the peak | model | error | H200 | of 32×32 tiles | of the peak |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
    tables '
        $1 == "rtx3070-lab" { row[++count] = $0; if ($2 == "Block Tiling 32×32") there = $11 }
        END {
            here = rate[warm("simt_05_shared", "TILE=32", 8192)]
            for (i = 1; i <= count; i++) {
                split(row[i], f, ",")
                guess = predicted["RTX 3070 Laptop", f[4], spare(f[4], f[5]), 8192]
                ours = at(f[4], f[5], f[6], f[7], 8192, "no")
                line = "| " f[2] " | `" f[4] "` " f[5] (f[7] == "default" ? "" : f[7]) (f[6] == "f32" ? "" : f[6]) " | " cell(f[11], "%.0f")
                plain = f[7] == "default" && f[6] == "f32"
                line = line " | " sprintf("%.2f", f[11] / there)
                line = line " | " (plain ? sprintf("%.0f %%", 100 * f[11] / card_peak["RTX 3070 Laptop"]) : "–")
                line = line " | " cell(guess, "%.0f") " | " cell(guess == "" ? "" : 100 * (guess / f[11] - 1), "%+.0f %%")
                line = line " | " cell(rate[ours], "%.0f") " | " (rate[ours] == "" || here == "" ? "–" : sprintf("%.2f", rate[ours] / here))
                print line " | " (plain ? cell(peak[ours], "%.0f %%") : "–") " |"
            }
        }' "$work/documents.csv"
}

# What the lab report launches for its product on tensor cores, and what of it has work.
table_lab_wmma() {
    echo '| N = 8192, tiles of 16×16, blocks of 32×32 threads | blocks | warps | of them with a tile |'
    echo '|---|---|---|---|'
    awk 'BEGIN {
        tiles = 8192 / 16
        blocks = tiles * tiles; warps = 32 * blocks; busy = tiles * tiles
        printf "| as published: N/16 by N/16 blocks | %d | %d | 1 in %d |\n", blocks, warps, warps / busy
        printf "| as many as there are tiles: N/16 by N/512 | %d | %d | all |\n", blocks / 32, warps / 32
    }'
}

# ---- Levels of memory, in two of the documents ----

table_hierarchy() {
    echo '| | P100, published: cycles | GB/s | GTX 1650, published: cycles | H200, measured: cycles | GB/s |'
    echo '|---|---|---|---|---|---|'
    plain_csv bench/results/h200/hierarchy.csv | awk -F, "$awk_tables"'
        NR > 1 { cycles[$1, $3] = $6; bytes[$1, $3] = $8 }
        END {
            count = split("registers,shared memory,L1 cache,L2 cache,memory", level, ",")
            for (i = 1; i <= count; i++) {
                name = level[i]
                line = "| " name " | " cell(cycles["Tesla P100", name], "%.0f") " | " cell(bytes["Tesla P100", name], "%.0f")
                line = line " | " cell(cycles["GTX 1650", name], "%.0f") " | " cell(cycles["NVIDIA H200", name], "%.0f")
                print line " | " cell(bytes["NVIDIA H200", name], "%.0f") " |"
            }
        }'
}
