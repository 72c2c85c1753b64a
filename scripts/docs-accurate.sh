# scripts/docs-accurate.sh: the tables of f32 by parts on tensor cores: how fast, and how exact. Sourced by docs.sh, after
# docs-tables.sh.

# Beside cuBLAS's SGEMM: the rates of A and B in rows, the ratio in every order, and that with both prepared beforehand.
table_accurate() {
    [ -e bench/results/h200/fp32-accurate.csv ] || { no_results; return; }
    echo '| m×n×k | cuBLAS SGEMM, TFLOPS | tessera, TFLOPS | ratio NN | NT | TN | TT | A and B prepared |'
    echo '|---|---|---|---|---|---|---|---|'
    results_rows fp32-accurate.csv '
        of("kernel") ~ /^auto:split_01/ {
            shape = of("m") == of("n") && of("n") == of("k") ? of("m") "³" : of("m") "×" of("n") "×" of("k")
            if (!(shape in seen)) { seen[shape] = 1; order[++count] = shape }
            which = of("cache") == "prepared" ? "prepared" : of("layout")
            ratios[shape, which] = of("ratio")
            if (which == "nn") { ours[shape] = of("gflops") / 1000; theirs[shape] = of("peer_gflops") / 1000 }
        }
        function times(which) { return " | " cell(ratios[order[i], which], "%.2f") }
        END {
            for (i = 1; i <= count; i++)
                print "| " order[i] " | " cell(theirs[order[i]], "%.1f") " | " cell(ours[order[i]], "%.0f") times("nn") times("nt") \
                    times("tn") times("tt") times("prepared") " |"
        }'
}

# Frobenius errors in units of 2^-24, the planner's choice and cuBLAS, with the way that was taken.
table_accuracy() {
    [ -e bench/results/h200/accuracy.csv ] || { no_results; return; }
    echo '| data | k = 64 | 256 | 1024 | 4096 | 16384 | 65536 |'
    echo '|---|---|---|---|---|---|---|'
    results_rows accuracy.csv '
        of("kernel") ~ /^auto:/ && of("peer_rel_error") != "" {
            data = of("data"); k = of("k")
            if (!(data in seen)) { seen[data] = 1; order[++count] = data }
            way = of("way") == "" ? "f32" : of("way")
            said[data, k] = sprintf("%.3g / %.3g, %s", of("rel_error") * 16777216, of("peer_rel_error") * 16777216, way)
        }
        END {
            for (i = 1; i <= count; i++) {
                line = "| " order[i]
                for (k = 64; k <= 65536; k *= 4) line = line " | " cell(said[order[i], k], "%s")
                print line " |"
            }
        }'
}

# beside_strict CONDITION: shapes for which the condition holds, in awk, by the planner and by multiply-adds alone, each beside cuBLAS's SGEMM.
beside_strict() {
    echo '| m×n×k | kernel | f32 | of cuBLAS | f32-strict | of cuBLAS |'
    echo '|---|---|---|---|---|---|'
    results_rows accurate-shapes.csv '
        function micro(ms) { return ms * 1000 < 100 ? sprintf("%.1f µs", ms * 1000) : sprintf("%.0f µs", ms * 1000) }
        function smaller() { return of("m") + 0 < of("n") + 0 ? of("m") + 0 : of("n") + 0 }
        of("batch") == 1 && ('"$1"') {
            shape = of("m") "×" of("n") "×" of("k")
            if (of("compute") == "f32-strict") { strict[shape] = micro(of("time_ms")) " | " sprintf("%.2f", of("ratio")); next }
            if (shape in line) next
            name = of("kernel")
            sub(/^auto:/, "", name)
            order[++count] = shape
            line[shape] = "| " shape " | " name " | " micro(of("time_ms")) " | " sprintf("%.2f", of("ratio"))
        }
        END { for (i = 1; i <= count; i++) print line[order[i]] " | " strict[order[i]] " |" }'
}
# A long k, or few rows or columns.
table_deep() {
    beside_strict 'of("k") * of("k") >= 16 * of("m") * of("n") || (smaller() > 1 && smaller() <= 64)'
}
# Squares, and rows that are not aligned.
table_medium() {
    beside_strict 'smaller() > 64 && smaller() < 2100 && of("k") < 2100 && (of("m") == of("n") || of("n") % 4)'
}
