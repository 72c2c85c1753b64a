#!/bin/sh
# tests/symbols.sh [--update]: what the two libraries offer the linker and ask of it.
#
# Only tess_* is offered, exactly the names in tests/abi.txt, which are exactly the functions in tessera.h.
# Nothing is asked for but the C library, and of that nothing that prints, exits or aborts.
# --update writes tests/abi.txt anew from the shared library: a name that vanishes breaks programs.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${BUILD:-build}
abi=tests/abi.txt
major=$(sed -n 's/^#define TESS_VERSION_MAJOR  *//p' include/tessera.h)
shared=$build/libtessera.so.$major
static=$build/libtessera.a

defined() { nm -g --defined-only "$@" | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort; }

defined -D "$shared" >"$work/shared"
if [ "${1-}" = --update ]; then
    cp "$work/shared" $abi
    echo "wrote $(wc -l <$abi) names to $abi"
    exit 0
fi

same "the shared library exports what $abi lists (sh tests/symbols.sh --update, if meant)" $abi "$work/shared"
defined "$static" >"$work/static"
same "the static library defines what $abi lists" $abi "$work/static"
grep -v '^tess_' "$work/shared" "$work/static" >"$work/foreign"
none "names without tess_ are visible" "$work/foreign"

# A declaration starts with TESS_API; its function is the first name before a parenthesis.
sed -n 's/^TESS_API [^(]*[ *]\(tess_[a-z0-9_]*\)(.*/\1/p' include/tessera.h | sort >"$work/declared"
same "tessera.h declares what $abi lists" $abi "$work/declared"

objdump -p "$shared" >"$work/dynamic"
try "the SONAME is libtessera.so.$major" grep -q "SONAME  *libtessera\.so\.$major\$" "$work/dynamic"
awk '$1 == "NEEDED" && $2 !~ /^(lib(c|m|dl|pthread)\.|libc\.musl-|ld-)/ { print $2 }' "$work/dynamic" >"$work/needed"
none "the shared library needs more than the C library" "$work/needed"

nm -u "$static" | awk '$1 ~ /^[Uw]$/ { print $2 }' | sort -u |
    grep -E -x '(__)?v?f?printf(_chk)?|v?dprintf|(f?puts|f?putc|putchar|fwrite)(_unlocked)?|perror|psignal|syslog|stdout|stderr|_?exit|_Exit|quick_exit|abort|raise|kill|__assert_fail|__assert' >"$work/talk"
none "the library can print, exit or abort" "$work/talk"

finish symbols
