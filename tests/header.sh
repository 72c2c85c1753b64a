#!/bin/sh
# tests/header.sh: tessera.h compiles alone, strictly, in each language it promises, and a program in each links
# with the shared and with the static library and runs.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${BUILD:-build}
cc=${CC:-cc}
strict='-pedantic -Wall -Wextra -Werror -Iinclude'

cat >"$work/program.c" <<'C'
#include "tessera.h"
#include "tessera.h" /* twice: the guard holds */
#include <string.h>

int main(void)
{
    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, c[4];
    tess_context *ctx;
    if (tess_open(&ctx, "cpu") != TESS_OK) return 1;
    if (tess_sgemm(ctx, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, 2, 2, 2, 1.0f, a, 2, b, 2, 0.0f, c, 2) !=
        TESS_OK)
        return 2;
    if (c[0] != 19 || c[1] != 22 || c[2] != 43 || c[3] != 50) return 3;
    if (strcmp(tess_version(), TESS_VERSION_STRING) != 0) return 4;
    return tess_close(ctx) == TESS_OK ? 0 : 5;
}
C
cp "$work/program.c" "$work/program.cc"
echo '#include "tessera.h"' >"$work/alone.c"
echo '#include "tessera.h"' >"$work/alone.cc"

# language COMPILER STANDARD SUFFIX. Compilers may be "ccache gcc": they are split into words.
# shellcheck disable=SC2086
language() {
    try "$2: the header alone" $1 -std=$2 $strict -c "$work/alone.$3" -o "$work/alone.o"
    try "$2: a program with the shared library" $1 -std=$2 $strict "$work/program.$3" -o "$work/shared" \
        -L"$build" -ltessera -Wl,-rpath,"$(cd "$build" && pwd)"
    try "$2: it runs" "$work/shared"
    try "$2: a program with the static library" $1 -std=$2 $strict -pthread "$work/program.$3" -o "$work/static" \
        "$build/libtessera.a" -lm -ldl
    try "$2: it runs" "$work/static"
}

language "$cc" c99 c
language "$cc" c11 c

cxx=
echo 'int main() { return 0; }' >"$work/probe.cc"
for candidate in ${CXX:+"$CXX"} c++ g++ clang++; do
    # shellcheck disable=SC2086
    if $candidate "$work/probe.cc" -o "$work/probe" >/dev/null 2>&1; then cxx=$candidate; break; fi
done
if [ -n "$cxx" ]; then language "$cxx" c++11 cc
else skip "the header as C++11: no C++ compiler here"; fi

finish header
