#!/bin/sh
# scripts/docs.sh BUILD [check|check-model]: writes what documents show of results, between their markers
#
#   <!-- table NAME: made by make docs -->  ...  <!-- table end -->
#
# in README.md and docs/*.md, and docs/ladder.svg. Tables are made of committed files alone: bench/results,
# bench/published, and bench/model, which holds what `tessera explain` says and is renewed first, where there is an NVRTC.
#
#   check        writes nothing; exit status 1 if a table or the chart is not what would be written
#   check-model  the same for bench/model; nothing is compared with another NVRTC than it was made with
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?usage: sh scripts/docs.sh BUILD [check|check-model]}
tessera=$build/tessera
[ -x "$tessera" ] || { echo "scripts/docs.sh: $tessera does not exist; make makes it" >&2; exit 1; }
mode=${2:-write}
unset TESSERA_DEVICE TESSERA_KERNEL_DIR TESSERA_PEER

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
. scripts/csv.sh
. scripts/docs-tables.sh
. scripts/docs-accurate.sh
. scripts/docs-cpu.sh
. scripts/docs-published.sh
stale=0

# settle NEW OLD: NEW becomes OLD, or is only compared with it.
settle() {
    if cmp -s "$1" "$2"; then return; fi
    if [ "$mode" = write ]; then
        cat "$1" >"$2"
        echo "wrote $2"
    else
        echo "$2 is not what make docs writes (< what it would write):"
        diff "$1" "$2" | head -n 10
        stale=1
    fi
}

# The model's figures depend on the registers that NVRTC's compiler takes.
renew_model() {
    version=$("$tessera" devices 2>/dev/null | sed -n 's/^ *NVRTC .*, \([0-9.]*\): .*/\1/p' | head -n 1)
    made_with=$(sed -n '1s/^# registers by NVRTC //p' bench/model/predictions.csv)
    if [ -z "$version" ] || { [ "$mode" != write ] && [ "$version" != "$made_with" ]; }; then
        echo "bench/model is left as it is: it was made with NVRTC $made_with, and here is ${version:-none}"
        return
    fi
    sh scripts/docs-model.sh "$tessera" "$work/model" || exit 1
    for file in predictions.csv explained.csv; do settle "$work/model/$file" "bench/model/$file"; done
}

# fill DOCUMENT: the document with its tables made anew.
fill() {
    sed -n 's/^<!-- table \([a-z0-9-]*\): made by make docs -->$/\1/p' "$1" >"$work/names"
    while read -r name; do
        { echo; "table_$(echo "$name" | tr - _)"; echo; } >"$work/table-$name" || exit 1
    done <"$work/names"
    awk -v work="$work" '
        /^<!-- table end -->$/ { inside = 0 }
        !inside { print }
        /^<!-- table [a-z0-9-]*: made by make docs -->$/ {
            inside = 1
            file = work "/table-" substr($3, 1, length($3) - 1)
            while ((getline line < file) > 0) print line
            close(file)
        }
        END { if (inside) exit 1 }' "$1"
}

renew_documents() {
    prepare_tables
    for document in README.md docs/*.md; do
        grep -q '^<!-- table ' "$document" || continue
        fill "$document" >"$work/new" || { echo "$document: a table has no end"; exit 1; }
        settle "$work/new" "$document"
    done
}

# Of the run that the tables are made of, and no other of the same kernels.
renew_chart() {
    mkdir "$work/h200"
    cp bench/results/h200/ladder-f32.csv bench/results/h200/environment.json "$work/h200/"
    "$tessera" report --svg "$work/ladder.svg" --chart ladder --quiet "$work/h200" || exit 1
    settle "$work/ladder.svg" docs/ladder.svg
}

case $mode in
write) renew_model; renew_documents; renew_chart ;;
check) renew_documents; renew_chart ;;
check-model) renew_model ;;
*) echo "docs.sh: '$mode' is none of check, check-model" >&2; exit 2 ;;
esac
exit $stale
