#!/bin/sh
# scripts/model-table.sh BUILD [check]: writes the tables of docs/MODEL.md, between their markers: the model's predictions
# beside what was measured on the H200 and what others published. With `check` it only looks, and exits with 1 if they are
# not up to date. Registers come from NVRTC: with another version than the tables were made with, nothing is compared.
set -u
cd "$(dirname "$0")/.." || exit 1
tessera=${1:-build}/tessera
document=docs/MODEL.md
results=bench/results/h200
begin='<!-- predictions: made by scripts/model-table.sh -->'
end='<!-- predictions end -->'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

version=$("$tessera" devices 2>/dev/null | sed -n 's/^ *NVRTC .*, \([0-9.]*\): .*/\1/p' | head -n 1)
caption="With registers by NVRTC ${version:-none}."
if [ "${2-}" = check ] && ! grep -qxF -e "$caption" "$document"; then
    echo "not compared: the tables were made with another NVRTC"
    exit 0
fi

# summary LEAST: median and worst of the errors in rows.csv, for sizes from LEAST on.
summary() {
    sed 1d "$work/rows.csv" | awk -F, -v least="$1" '$4 + 0 >= least { print $8 < 0 ? -$8 : $8 }' | sort -n |
        awk '{ e[NR] = $1 } END { printf "median %.1f %%, worst %.1f %%", (e[int((NR + 1) / 2)] + e[int(NR / 2) + 1]) / 2, e[NR] }'
}

# errors TITLE GPU FILE LEAST: a table of its own with the sizes from LEAST on, and the errors of these and of all.
errors() {
    "$tessera" explain --gpu "$2" --measured "$3" --csv "$work/rows.csv" >"$work/out" || exit 1
    printf '### %s\n\n| rung | parameters | type | size | measured | predicted | error |\n|---|---|---|---|---|---|---|\n' "$1"
    sed 1d "$work/rows.csv" | awk -F, -v least="$4" '$4 + 0 >= least {
        printf "| %s | %s | %s | %s | %.0f | %.0f | %+.0f %% |\n", $1, $2, $3, $4, $6, $7, $8 }'
    printf '\nSize of the errors: %s.' "$(summary "$4")"
    [ "$4" = 0 ] || printf ' With the sizes from 128 on that the table leaves out: %s.' "$(summary 0)"
    printf '\n\n'
}

tables() {
    printf '%s\n\n' "$caption"
    for type in f32 f64 i32; do errors "H200, $type" H200 "$results/ladder-$type.csv" 2048; done
    for gpu in 'Tesla P100' 'Quadro P4000' 'GTX 1650' 'RTX 3070 Laptop'; do
        errors "$gpu, published" "$gpu" bench/published/documents.csv 0
    done
}

for marker in "$begin" "$end"; do
    grep -qxF -e "$marker" "$document" || { echo "$document has no line '$marker'"; exit 1; }
done
tables >"$work/tables" || exit 1
{
    awk -v marker="$begin" '{ print } $0 == marker { exit }' "$document"
    echo
    cat "$work/tables"
    awk -v marker="$end" '$0 == marker { found = 1 } found' "$document"
} >"$work/new"
if cmp -s "$work/new" "$document"; then exit 0; fi
if [ "${2-}" = check ]; then
    echo "the tables in $document are not what the model says; sh scripts/model-table.sh writes them"
    diff "$work/new" "$document" | head -n 10
    exit 1
fi
cat "$work/new" >"$document"
echo "wrote the tables in $document"
