# scripts/docs-cpu.sh: the table of products on CPUs. Sourced by docs.sh, after docs-tables.sh.

# What the planner takes, beside the BLAS libraries that were there: an Arm core alone and two of them, and the GPU's x86 host.
table_cpu() {
    echo '| product | Neoverse-V1, GFLOPS | of peak | × OpenBLAS | × BLIS | 2 threads × OpenBLAS | × BLIS | Xeon × OpenBLAS | 16 threads |'
    echo '|---|---|---|---|---|---|---|---|---|'
    for cpu in neoverse-v1 intel-xeon; do
        for file in squares small shapes; do
            plain_csv "bench/results/$cpu/$file.csv" | awk -v cpu="$cpu" '{ print cpu "," $0 }'
        done
    done | awk -F, "$awk_tables"'
        $2 == "schema" { for (i = 2; i <= NF; i++) column[$i] = i; next }
        function of(name) { return $column[name] }
        {
            size = of("m")
            if (of("m") == of("n") && of("n") == of("k")) {
                if (size != 8 && size != 32 && size != 128 && size != 256 && size != 1024 && size != 4096) next
                product = of("type") " " size "³"
            } else if (of("m") == 1 || of("n") == 1) next
            else product = of("type") " " of("m") "×" of("n") "×" of("k")
            if (!(product in seen)) { seen[product] = 1; order[++count] = product }
            many = of("threads") > 1 ? "many" : "one"
            ratios[product, $1, many, of("peer")] = of("ratio")
            if ($1 == "neoverse-v1" && many == "one") { rates[product] = of("gflops"); peaks[product] = of("pct_peak") }
        }
        function times(cpu, many, peer) { return " | " cell(ratios[order[i], cpu, many, peer], "%.2f") }
        END {
            for (i = 1; i <= count; i++)
                print "| " order[i] " | " cell(rates[order[i]], "%.1f") " | " cell(peaks[order[i]], "%.0f%%") \
                    times("neoverse-v1", "one", "openblas") times("neoverse-v1", "one", "blis") \
                    times("neoverse-v1", "many", "openblas") times("neoverse-v1", "many", "blis") \
                    times("intel-xeon", "one", "openblas") times("intel-xeon", "many", "openblas") " |"
        }'
}
