#!/bin/sh
# scripts/format.sh check|fix: the C sources as .clang-format wants them.
#
# clang-format 14 decides; other versions break lines elsewhere, so they are not asked. `check` names the files
# that differ and exits 1, or exits 77 where there is no clang-format 14; `fix` rewrites them.
set -eu
cd "$(dirname "$0")/.."

formatter=
for candidate in clang-format-14 clang-format; do
    case $($candidate --version 2>/dev/null || :) in *"version 14."*) formatter=$candidate; break ;; esac
done
if [ -z "$formatter" ]; then
    echo "format: clang-format 14 is not here (sh setup.sh --dev installs it)" >&2
    exit 77
fi

sources() {
    for dir in include src cli tests examples kernels; do
        if [ -d $dir ]; then find $dir -name '*.[ch]' -o -name '*.cu'; fi
    done | sort
}

case "${1-}" in
fix) sources | xargs "$formatter" -i ;;
check)
    differing=$(sources | while read -r file; do
        "$formatter" "$file" | cmp -s - "$file" || echo "$file"
    done)
    if [ -n "$differing" ]; then
        echo "$differing" | sed 's/^/format: differs from .clang-format: /'
        echo "format: make format puts them right"
        exit 1
    fi
    ;;
*) echo "usage: sh scripts/format.sh check|fix" >&2; exit 2 ;;
esac
