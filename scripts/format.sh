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
    for dir in include src blas cli tests examples kernels tools; do
        if [ -d $dir ]; then find $dir -name '*.[ch]' -o -name '*.cu'; fi
    done | sort
}

case "${1-}" in
fix) sources | xargs "$formatter" -i ;;
check)
    if ! said=$(sources | xargs "$formatter" --dry-run -Werror 2>&1); then
        names=$(echo "$said" | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort -u)
        if [ -n "$names" ]; then echo "$names" | sed 's/^/format: differs from .clang-format: /'; else echo "$said"; fi
        echo "format: make format puts them right"
        exit 1
    fi
    ;;
*) echo "usage: sh scripts/format.sh check|fix" >&2; exit 2 ;;
esac
