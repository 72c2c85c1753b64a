#!/bin/sh
# scripts/ladder-table.sh [check]: writes the table of results into docs/LADDER.md, between its markers, from the
# ladders kept in bench/results/h200. With `check` it only looks, and exits with 1 if the table is not up to date.
set -u
cd "$(dirname "$0")/.." || exit 1
document=docs/LADDER.md
results=bench/results/h200
begin='<!-- results: made by scripts/ladder-table.sh -->'
end='<!-- results end -->'

new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT

# One row for each rung: its rate by size in f32, against cuBLAS and the peak at 4096, and its rate there in the other
# types. Quoted fields may hold commas, and none of them is needed.
table() {
    if [ ! -e "$results/ladder-f32.csv" ]; then
        echo "No results are kept yet: \`sh scripts/gpu.sh bench\` makes them on a card."
        return
    fi
    for type in f32 f64 i32; do [ ! -e "$results/ladder-$type.csv" ] || cat "$results/ladder-$type.csv"; done | awk -F, '
        function cell(value, format) { return value == "" ? "–" : sprintf(format, value) }
        { gsub(/"[^"]*"/, "") }
        $1 == "schema" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["m"] != $at["n"] || $at["verified"] != "yes" { next }
        {
            kernel = $at["kernel"]; size = $at["m"]; type = $at["type"]
            if (!(kernel in seen)) { seen[kernel] = 1; order[++count] = kernel }
            rate[kernel, type, size] = $at["gflops"]
            if (type == "f32" && size == 4096) { ratio[kernel] = $at["ratio"]; peak[kernel] = $at["pct_peak"] }
        }
        END {
            print "| rung | 512 | 1024 | 2048 | 4096 | 8192 | of cuBLAS at 4096 | of the peak | f64 at 4096 | i32 at 4096 |"
            print "|---|---|---|---|---|---|---|---|---|---|"
            for (i = 1; i <= count; i++) {
                kernel = order[i]
                line = "| " kernel
                for (size = 512; size <= 8192; size *= 2) line = line " | " cell(rate[kernel, "f32", size], "%.0f")
                line = line " | " cell(ratio[kernel], "%.2f") " | " cell(peak[kernel], "%.0f%%")
                print line " | " cell(rate[kernel, "f64", 4096], "%.0f") " | " cell(rate[kernel, "i32", 4096], "%.0f") " |"
            }
        }'
}

for marker in "$begin" "$end"; do
    grep -qxF -e "$marker" "$document" || { echo "$document has no line '$marker'"; exit 1; }
done
{
    awk -v marker="$begin" '{ print } $0 == marker { exit }' "$document"
    echo
    table
    echo
    awk -v marker="$end" '$0 == marker { found = 1 } found' "$document"
} >"$new"
if cmp -s "$new" "$document"; then exit 0; fi
if [ "${1-}" = check ]; then
    echo "the table in $document is not that of $results; sh scripts/ladder-table.sh writes it"
    exit 1
fi
cat "$new" >"$document"
echo "wrote the table in $document"
