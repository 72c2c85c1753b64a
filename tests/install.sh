#!/bin/sh
# tests/install.sh: make install puts the right files in the right places, programs find them through pkg-config
# (shared and static), and make uninstall takes all of them away.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${BUILD:-build}
cc=${CC:-cc}
make=${MAKE:-make}
version=$(sed -n 's/^#define TESS_VERSION_STRING "\(.*\)"/\1/p' include/tessera.h)
major=${version%%.*}

files_in() { (cd "$1" && find . ! -type d | sort); }

# layout LIBDIR: the expected files, relative to the prefix.
layout() {
    # Words, not one argument: a name for each file of shapes.
    # shellcheck disable=SC2046
    printf '%s\n' ./bin/tessera ./include/tessera.h "./$1/libtessera.a" "./$1/libtessera.so" "./$1/libtessera.so.$major" \
        "./$1/libtessera.so.$version" "./$1/libtessera-blas.so" "./$1/tessera/sim.modules" "./$1/pkgconfig/tessera.pc" ./share/man/man1/tessera.1 \
        $(cd bench/shapes && printf './share/tessera/shapes/%s ' *.txt) | sort
}

# A package: DESTDIR stands before a prefix that is not there yet.
try "make install into DESTDIR" "$make" BUILD="$build" DESTDIR="$work/stage" PREFIX=/opt/t install
mkdir -p "$work/stage/opt/t"
layout lib >"$work/want"
files_in "$work/stage/opt/t" >"$work/got"
same "the files of make install" "$work/want" "$work/got"
if grep -q "$work" "$work/stage/opt/t/lib/pkgconfig/tessera.pc"; then fail "DESTDIR leaks into tessera.pc"; else pass; fi
try "make uninstall from DESTDIR" "$make" BUILD="$build" DESTDIR="$work/stage" PREFIX=/opt/t uninstall
files_in "$work/stage" >"$work/got"
none "make uninstall leaves files" "$work/got"

# A user: own prefix (with a space), own library directory, nobody's umask.
prefix="$work/my prefix"
umask 077
try "make install into PREFIX" "$make" BUILD="$build" PREFIX="$prefix" LIBDIR="$prefix/lib64" install
umask 022
mkdir -p "$prefix"
layout lib64 >"$work/want"
files_in "$prefix" >"$work/got"
same "the files of make install with LIBDIR" "$work/want" "$work/got"
find "$prefix" -type f ! -perm -444 >"$work/got"
none "files others cannot read" "$work/got"
"$prefix/bin/tessera" bench --device cpu --shapes odd --kernels nothing >"$work/said" 2>&1
if grep -q "no kernel matches" "$work/said"; then pass; else fail "it does not find its shapes: $(cat "$work/said")"; fi
try "the installed command runs" "$prefix/bin/tessera" --version
# shellcheck disable=SC2016
try "its version" sh -c '"$1" --version | grep -q "^tessera $2"' - "$prefix/bin/tessera" "$version"

cat >"$work/program.c" <<'C'
#include <tessera.h>
int main(void)
{
    double a = 6, b = 7, c = 0;
    tess_context *ctx;
    if (tess_open(&ctx, "cpu") != TESS_OK) return 1;
    if (tess_dgemm(ctx, TESS_ROW_MAJOR, TESS_NO_TRANS, TESS_NO_TRANS, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1) != TESS_OK)
        return 2;
    tess_close(ctx);
    return c == 42 ? 0 : 3;
}
C
pkg_config=
for candidate in pkg-config pkgconf; do
    if command -v $candidate >/dev/null 2>&1; then pkg_config=$candidate; break; fi
done
if [ -n "$pkg_config" ]; then
    export PKG_CONFIG_PATH="$prefix/lib64/pkgconfig"
    try "pkg-config's version" test "$($pkg_config --modversion tessera)" = "$version"
    # pkg-config escapes the space, which only a second reading by the shell undoes.
    # shellcheck disable=SC2086
    eval try '"compile with pkg-config"' $cc '"$work/program.c"' -o '"$work/shared"' "$($pkg_config --cflags --libs tessera)"
    try "the program with the shared library runs" env LD_LIBRARY_PATH="$prefix/lib64" "$work/shared"
    rm -f "$prefix"/lib64/libtessera.so*
    # shellcheck disable=SC2086
    eval try '"compile with pkg-config --static"' $cc '"$work/program.c"' -o '"$work/static"' "$($pkg_config --static --cflags --libs tessera)"
    try "the program with the static library runs" "$work/static"
else
    skip "programs through tessera.pc: no pkg-config here"
    # shellcheck disable=SC2086
    try "compile against the installed files" $cc "$work/program.c" -o "$work/shared" -I"$prefix/include" \
        -L"$prefix/lib64" -ltessera
    try "the program with the shared library runs" env LD_LIBRARY_PATH="$prefix/lib64" "$work/shared"
fi
echo mine >"$prefix/bin/other"
try "make uninstall from PREFIX" "$make" BUILD="$build" PREFIX="$prefix" LIBDIR="$prefix/lib64" uninstall
echo ./bin/other >"$work/want"
files_in "$prefix" >"$work/got"
same "make uninstall leaves the files of others, and only those" "$work/want" "$work/got"

finish install
