#!/bin/sh
# scripts/install.sh install|uninstall: what `make install` puts in place, and takes away again.
#
# Reads BUILD, VERSION, DESTDIR, PREFIX, BINDIR, LIBDIR, INCLUDEDIR, MANDIR from the environment, as the
# Makefile sets them. The list of files is in one place, `place`, so that uninstall removes exactly what install
# puts there; directories stay.
set -eu
cd "$(dirname "$0")/.."
: "${BUILD:?}" "${VERSION:?}" "${PREFIX:?}" "${BINDIR:?}" "${LIBDIR:?}" "${INCLUDEDIR:?}" "${MANDIR:?}"
DESTDIR=${DESTDIR-}
major=${VERSION%%.*}

# put MODE SOURCE TARGET; link TEXT TARGET. The old file is removed first: a program that has it mapped keeps it.
install_put() {
    mkdir -p "$(dirname "$DESTDIR$3")"
    rm -f "$DESTDIR$3"
    cp "$2" "$DESTDIR$3"
    chmod "$1" "$DESTDIR$3"
    echo "$DESTDIR$3"
}
install_link() { ln -sf "$1" "$DESTDIR$2"; echo "$DESTDIR$2"; }
uninstall_put() { rm -f "$DESTDIR$3"; }
uninstall_link() { rm -f "$DESTDIR$2"; }

place() {
    "$1_put" 755 "$BUILD/tessera" "$BINDIR/tessera"
    "$1_put" 644 "$BUILD/libtessera.a" "$LIBDIR/libtessera.a"
    "$1_put" 755 "$BUILD/libtessera.so.$major" "$LIBDIR/libtessera.so.$VERSION"
    "$1_link" "libtessera.so.$VERSION" "$LIBDIR/libtessera.so.$major"
    "$1_link" "libtessera.so.$major" "$LIBDIR/libtessera.so"
    "$1_put" 755 "$BUILD/libtessera-blas.so" "$LIBDIR/libtessera-blas.so"
    "$1_put" 644 "$BUILD/sim.modules" "$LIBDIR/tessera/sim.modules"
    "$1_put" 644 include/tessera.h "$INCLUDEDIR/tessera.h"
    "$1_put" 644 "$BUILD/tessera.pc" "$LIBDIR/pkgconfig/tessera.pc"
    for shapes in bench/shapes/*.txt; do
        "$1_put" 644 "$shapes" "$PREFIX/share/tessera/shapes/${shapes##*/}"
    done
    "$1_put" 644 docs/man/tessera.1 "$MANDIR/man1/tessera.1"
}

# Fills one @NAME@ of the template with a path, which may hold anything but a newline. Directories inside the
# prefix are written relative to it, so that pkg-config can relocate them.
fill() {
    value=$2
    case $value in "$PREFIX"/*) [ "$1" = PREFIX ] || value="\${prefix}${value#"$PREFIX"}" ;; esac
    printf 's|@%s@|%s|' "$1" "$(printf '%s' "$value" | sed 's/[\\&|]/\\&/g')"
}
write_pkgconfig() {
    sed -e "$(fill PREFIX "$PREFIX")" -e "$(fill LIBDIR "$LIBDIR")" -e "$(fill INCLUDEDIR "$INCLUDEDIR")" \
        -e "$(fill VERSION "$VERSION")" scripts/tessera.pc.in >"$BUILD/tessera.pc"
}

# The loader's cache knows nothing of a new library in a system directory until it is told.
refresh_loader() {
    if [ -z "$DESTDIR" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null 2>&1; then
        ldconfig 2>/dev/null || :
    fi
}

case "${1-}" in
install) write_pkgconfig; place install; refresh_loader ;;
uninstall) place uninstall; refresh_loader ;;
*) echo "usage: scripts/install.sh install|uninstall (run by make)" >&2; exit 2 ;;
esac
