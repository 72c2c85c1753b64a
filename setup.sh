#!/bin/sh
# setup.sh: installs what Tessera needs and this machine lacks, and nothing that is there.
#
#   sh setup.sh          a C compiler and GNU make; OpenBLAS and BLIS, which `tessera bench` compares with
#   sh setup.sh --dev    also what .ci/run uses: C++ compiler, clang, clang-format 14, valgrind, pkg-config
#
# Whether something is there is tried out (compile, link, load), never asked of a package manager. The peers
# are optional: where they cannot be had, one sentence names them and the set-up succeeds all the same.
set -eu

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

dev=no
case "${1-}" in
'') ;;
--dev) dev=yes ;;
-h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) die "\"$1\" is not an option; there is only --dev" ;;
esac

work=$(mktemp -d) || die "no temporary directory can be made in ${TMPDIR:-/tmp}; set TMPDIR to a writable one"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# ---- What is there ----

# Links like the library does; run with names of shared libraries, it succeeds if one of them loads.
cat >"$work/probe.c" <<'PROBE'
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int calls;
static void *call(void *x) { atomic_fetch_add(&calls, 1); return x; }
int main(int argc, char **argv)
{
    pthread_t thread;
    if (pthread_create(&thread, 0, call, 0) || pthread_join(thread, 0) || sqrt((double)calls) != 1.0) return 2;
    for (int i = 1; i < argc; ++i) if (dlopen(argv[i], RTLD_LAZY)) return 0;
    return argc > 1;
}
PROBE

compiler=
find_compiler() {
    for compiler in ${CC:+"$CC"} cc gcc clang; do
        # $CC may carry flags, so it is split into words.
        # shellcheck disable=SC2086
        $compiler -std=c11 -pthread -o "$work/probe" "$work/probe.c" -lm -ldl >/dev/null 2>&1 && return 0
    done
    compiler=
    return 1
}

gnu_make=
find_make() {
    for gnu_make in make gmake; do
        case $($gnu_make --version 2>/dev/null || :) in *"GNU Make"*) return 0 ;; esac
    done
    gnu_make=
    return 1
}

# The Makefile joins the library's objects with ld and hides their internal names with objcopy.
find_binutils() { has ld && has ar && has objcopy && has nm; }

find_cxx() {
    echo 'int main() { return 0; }' >"$work/probe.cc"
    for cxx in c++ g++ clang++; do $cxx -o "$work/probecc" "$work/probe.cc" >/dev/null 2>&1 && return 0; done
    return 1
}
find_clang() { clang -std=c11 -pthread -o "$work/probe-clang" "$work/probe.c" -lm -ldl >/dev/null 2>&1; }
find_clang_format() {
    has clang-format-14 || case $(clang-format --version 2>/dev/null || :) in *"version 14."*) ;; *) false ;; esac
}
find_valgrind() { valgrind -q "$work/probe" >/dev/null 2>&1; }
find_pkg_config() { has pkg-config || has pkgconf; }

find_openblas() { "$work/probe" libopenblas.so.0 libopenblas.so libopenblasp.so.0 2>/dev/null; }
find_blis() { "$work/probe" libblis.so.4 libblis.so.3 libblis.so 2>/dev/null; }

# ---- What it is called ----

# The packages that bring a thing, for the package manager of this machine; "a|b" means a, or else b.
manager=none
for candidate in apt-get dnf apk pacman zypper; do
    if has $candidate; then manager=$candidate; break; fi
done
packages_of() {
    case $manager:$1 in
    apt-get:compiler) echo gcc libc6-dev ;;
    dnf:compiler | zypper:compiler) echo gcc glibc-devel ;;
    apk:compiler) echo gcc musl-dev ;;
    pacman:compiler) echo gcc ;;
    *:make) echo make ;;
    *:binutils) echo binutils ;;
    apt-get:cxx | apk:cxx) echo g++ ;;
    dnf:cxx | zypper:cxx) echo gcc-c++ ;;
    pacman:cxx) echo gcc ;;
    apt-get:clang_format) echo 'clang-format-14|clang-format' ;;
    apt-get:valgrind) echo valgrind libc6-dbg ;;
    *:clang | *:valgrind) echo "$1" ;;
    apt-get:pkg_config) echo 'pkg-config|pkgconf' ;;
    *:pkg_config) echo pkgconf ;;
    apt-get:openblas) echo 'libopenblas0-pthread|libopenblas0' ;;
    dnf:openblas) echo openblas-threads ;;
    apk:openblas | pacman:openblas) echo openblas ;;
    zypper:openblas) echo libopenblas_pthreads0 ;;
    apt-get:blis) echo 'libblis4-pthread|libblis4' ;;
    esac
}
title_of() {
    case $1 in
    compiler) echo "a C compiler" ;;
    make) echo "GNU make" ;;
    cxx) echo "a C++ compiler" ;;
    clang_format) echo "clang-format 14" ;;
    pkg_config) echo "pkg-config" ;;
    openblas) echo "OpenBLAS" ;;
    blis) echo "BLIS" ;;
    *) echo "$1" ;;
    esac
}

# ---- How it is installed ----

# Set once something has to be installed: empty if it can be tried, else why it cannot.
obstacle=unknown
as_root=
prepare_manager() {
    [ "$obstacle" = unknown ] || return 0
    obstacle=
    if [ $manager = none ]; then
        obstacle="no package manager this script knows is here"
    elif [ "$(id -u)" != 0 ]; then
        # Without a terminal nobody can type a password.
        if ! has sudo; then obstacle="this is not root and there is no sudo"
        elif sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; then as_root=sudo
        else obstacle="this is not root and sudo refuses"; fi
    fi
    [ -z "$obstacle" ] || return 0
    case $manager in
    # Lists may be missing, as in a new container, or old. Failure is no obstacle: packages may be at hand.
    apt-get) say "reading the package lists"; apt_get update >"$work/log" 2>&1 || : ;;
    esac
}
apt_get() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::http::Timeout=20 \
        -o Acquire::Retries=2 -o DPkg::Lock::Timeout=120 "$@" </dev/null
}
run_manager() {
    case $manager in
    apt-get) apt_get install -y --no-install-recommends "$@" ;;
    dnf) $as_root dnf install -y --setopt=install_weak_deps=False "$@" ;;
    apk) $as_root apk add --no-cache "$@" ;;
    pacman) $as_root pacman -Sy --needed --noconfirm "$@" ;;
    zypper) $as_root zypper --non-interactive install --no-recommends "$@" ;;
    esac
}

installed=
reason=
# Makes sure of one thing; fails, with a reason, if it is still missing afterwards.
ensure() {
    "find_$1" && return 0
    prepare_manager
    packages=$(packages_of "$1")
    if [ -n "$obstacle" ]; then reason=$obstacle; return 1; fi
    if [ -z "$packages" ]; then reason="this script knows no $manager package for $(title_of "$1")"; return 1; fi
    old_ifs=$IFS
    IFS='|'
    for choice in $packages; do
        IFS=$old_ifs
        say "installing $choice"
        # shellcheck disable=SC2086
        if run_manager $choice >"$work/log" 2>&1; then
            installed="$installed $choice"
            "find_$1" && return 0
        fi
    done
    IFS=$old_ifs
    reason="$manager: $(grep -v '^ *$' "$work/log" | tail -n 1)"
    return 1
}

# Names of things and their packages, as a sentence has them: "OpenBLAS (libopenblas0) and BLIS (libblis4)".
listing() {
    text=
    while [ $# -gt 0 ]; do
        packages=$(packages_of "$1")
        item="$(title_of "$1")${packages:+ (${packages%%|*})}"
        if [ -z "$text" ]; then text=$item
        elif [ $# -eq 1 ]; then text="$text and $item"
        else text="$text, $item"; fi
        shift
    done
    echo "$text"
}
# ---- The set-up ----

missing=
for thing in compiler make binutils; do ensure $thing || missing="$missing $thing"; done
if [ $dev = yes ]; then
    for thing in cxx clang clang_format valgrind pkg_config; do ensure $thing || missing="$missing $thing"; done
fi
# shellcheck disable=SC2086
[ -z "$missing" ] || die "needed, but could not be installed ($reason): $(listing $missing). Install by hand, then run this again."

absent=
for thing in openblas blis; do ensure $thing || absent="$absent $thing"; done
# shellcheck disable=SC2086
[ -z "$absent" ] || say "optional, and could not be installed ($reason): $(listing $absent), with which tessera bench compares."

[ "$gnu_make" = make ] || say "GNU make is called $gnu_make here: use it where the documents say make."
if [ -n "$installed" ]; then say "installed$installed; ready."
else say "nothing to install; ready."; fi
