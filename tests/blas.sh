#!/bin/sh
# tests/blas.sh: libtessera-blas.so multiplies for programs that call BLAS: linked to it, and with it preloaded.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${BUILD:-build}
cc=${CC:-cc}
case $build in /*) ;; *) build=$PWD/$build ;; esac
blas=$build/libtessera-blas.so
unset TESSERA_DEVICE TESSERA_BLAS_VERBOSE

# Nothing but its own names: tess_* of a program's own libtessera stays with that.
nm -D --defined-only "$blas" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort >"$work/offered"
sed -n 's/^\(SINGLE\|DOUBLE\)([A-Z]*, \([a-z0-9_]*\),.*/\2/p' blas/tessera_blas.c | sort >"$work/names"
same "the names that libtessera-blas.so offers" "$work/names" "$work/offered"
try "they are eighteen" test "$(wc -l <"$work/names")" -eq 18
objdump -p "$blas" | awk '$1 == "NEEDED" && $2 !~ /^(lib(c|m|dl|pthread)\.|libc\.musl-|ld-)/ { print $2 }' >"$work/needed"
none "it needs more than the C library" "$work/needed"

# Every spelling, wrong arguments, threads, a forked child.
"$build/tests/tools/blas_calls" >"$work/said" 2>&1
status=$?
line=$(tail -n 1 "$work/said")
case "$status $line" in
"0 "*" passed, 0 failed") passed=$((passed + ${line%% *})) ;;
*)
    fail "blas_calls ended with $status"
    head -n 20 "$work/said" | sed 's/^/    /' ;;
esac
TESSERA_BLAS_VERBOSE=1 "$build/tests/tools/blas_calls" 2>"$work/told" >"$work/said"
try "it tells of each product" grep -q '^libtessera-blas: dgemm 64x64x64, cpu_' "$work/told"
try "and of what it did by loops" grep -q '^libtessera-blas: sgemm 2x2x2, C ' "$work/told"
TESSERA_DEVICE=abacus "$build/tests/tools/blas_calls" >"$work/said" 2>"$work/told"
try "without that device products are right" grep -q ' passed, 0 failed$' "$work/said"
try "and it says who multiplies" grep -q "^libtessera-blas: .*abacus.*; the CPU multiplies instead\$" "$work/told"
try "that once" test "$(grep -c abacus "$work/told")" -le 2 # in the forked child too

if [ -e "$build/tests/standin/libcuda.so.1" ]; then
    TESSERA_LIBRARY_PATH=$build/tests/standin TESSERA_DEVICE=cuda "$build/tests/tools/blas_calls" broken >"$work/said" 2>"$work/told"
    try "a GPU that breaks down" grep -q '^1 passed, 0 failed$' "$work/said"
    try "is told of" grep -q '^libtessera-blas: .*; the CPU multiplies instead$' "$work/told"
fi
TESSERA_NUM_THREADS=many "$build/tests/tools/blas_calls" >"$work/said" 2>"$work/told"
try "a number of threads that is none" grep -q ' passed, 0 failed$' "$work/said"
try "and what comes of it" grep -q "^libtessera-blas: TESSERA_NUM_THREADS is 'many'.*plain loops" "$work/told"

# A program that was linked with another BLAS.
cat >"$work/program.c" <<'C'
#include <stdio.h>
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
int main(void)
{
    double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, c[4] = {0};
    cblas_dgemm(101, 111, 112, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    cblas_dgemm(101, 111, 112, -1, 2, 2, 1, a, 2, b, 2, 0, c, 2); /* is told of, and nothing else */
    return printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]) < 0;
}
C
other=
for file in /usr/lib/*/openblas*/libopenblas.so.0 /usr/lib/*/libopenblas.so.0 /usr/lib64/libopenblas*.so.0; do
    if [ -z "$other" ] && [ -e "$file" ]; then other=$file; fi
done
if [ -z "$other" ]; then skip "no other BLAS here to be linked with"
elif case $(nm -D "$blas" 2>/dev/null) in *__asan* | *__tsan*) true ;; *) false ;; esac then skip "a sanitizer must be loaded first"
else
    try "a program with another BLAS" "$cc" "$work/program.c" -o "$work/program" "$other" -Wl,-rpath,"$(dirname "$other")"
    echo '17 23 39 53' >"$work/want"
    "$work/program" >"$work/told" 2>&1
    grep -v '^[0-9]' "$work/told" >"$work/refusal"
    grep '^[0-9]' "$work/told" >"$work/got"
    same "its product" "$work/want" "$work/got"
    TESSERA_BLAS_VERBOSE=1 LD_PRELOAD=$blas "$work/program" >"$work/told" 2>&1
    grep '^[0-9]' "$work/told" >"$work/got"
    same "with the library preloaded" "$work/want" "$work/got"
    try "is computed here" grep -q '^libtessera-blas: dgemm 2x2x2, cpu_' "$work/told"
    grep -v '^[0-9]\|^libtessera' "$work/told" >"$work/got"
    same "a wrong argument is told of as without it" "$work/refusal" "$work/got"
fi

if python3 -c 'import numpy' 2>/dev/null; then
    cat >"$work/script.py" <<'PYTHON'
import numpy as np
for kind in np.float32, np.float64:
    a = (np.arange(70 * 50) % 9 - 4).reshape(70, 50).astype(kind)
    b = (np.arange(50 * 60) % 7 - 3).reshape(50, 60).astype(kind)
    want = a.astype(np.int64) @ b.astype(np.int64)
    assert ((a @ b) == want).all() and ((b.T @ a.T) == want.T).all() and (np.dot(a, b) == want).all()
    assert ((a[::2] @ b[:, ::3]) == want[::2, ::3]).all()
    batch = np.stack([a, 2 * a])
    assert ((batch @ b)[1] == 2 * want).all()
PYTHON
    TESSERA_BLAS_VERBOSE=1 LD_PRELOAD=$blas python3 "$work/script.py" 2>"$work/told"
    try "NumPy's products are right" test $? -eq 0
    try "and computed here" grep -q '^libtessera-blas: sgemm [67]0x[67]0x50, cpu_' "$work/told"
else
    skip "there is no NumPy here"
fi

# BLAS's own testers, where Debian's libblas-test is installed.
testers=
for file in /usr/lib/*/blas/xblat3s; do
    if [ -x "$file" ]; then testers=$(dirname "$file"); fi
done
if [ -z "$testers" ]; then skip "BLAS's testers are not here (libblas-test)"
else
    for type in s d; do
        (cd "$work" && LD_PRELOAD=$blas "$testers/xblat3$type" <"$testers/${type}blat3.in" && cat ./*blat3.out) >"$work/said" 2>&1
        try "xblat3$type" grep -q "GEMM  PASSED THE COMPUTATIONAL TESTS" "$work/said"
        (cd "$work" && LD_LIBRARY_PATH=$testers LD_PRELOAD=$blas "$testers/x${type}cblat3" <"$testers/${type}in3") >>"$work/said" 2>&1
        try "x${type}cblat3" grep -q "gemm  PASSED THE ROW-MAJOR    COMPUTATIONAL TESTS" "$work/said"
        grep -i 'gemm.*\(fail\|not detected\|instead\)' "$work/said" >"$work/bad"
        none "what the testers say of ${type}gemm" "$work/bad"
        rm -f "$work"/*blat3.out
    done
fi

finish blas
