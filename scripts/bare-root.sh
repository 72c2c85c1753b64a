#!/bin/sh
# scripts/bare-root.sh: tries the two commands of the README where nothing is installed. Needs root and debootstrap.
#
#   sh scripts/bare-root.sh                   makes an empty Debian root for the trial, from deb.debian.org
#   MIRROR=http://… SUITE=trixie sh scripts/bare-root.sh
#   BASE=/path/to/root sh scripts/bare-root.sh   copies an empty root made before, which stays as it is
#
# Three trials, each in a fresh copy, as root without sudo unless it says otherwise:
#   bare      both commands, twice; the second time nothing may be installed
#   no-apt    compiler and make are there, no package manager is
#   user      the same, as a user who may only write to the tree
# Everything is made under ${TMPDIR:-/var/tmp} and removed; nothing stays mounted. KEEP=1 keeps the roots.
set -eu
cd "$(dirname "$0")/.."
MIRROR=${MIRROR:-http://deb.debian.org/debian}
SUITE=${SUITE:-bookworm}
die() { printf 'bare-root: %s\n' "$*" >&2; exit 1; }
say() { printf '\n--- %s\n' "$*"; }

[ "$(id -u)" = 0 ] || die "only root can make and enter another root directory"
work=$(mktemp -d "${TMPDIR:-/var/tmp}/tessera-bare.XXXXXX")
cleanup() { [ -n "${KEEP-}" ] || rm -rf --one-file-system "$work"; }
trap cleanup EXIT
trap 'exit 130' INT TERM

base=${BASE-}
if [ -z "$base" ]; then
    command -v debootstrap >/dev/null 2>&1 || die "debootstrap is not here; install it, or give BASE=/an/empty/root"
    base=$work/base
    say "an empty $SUITE from $MIRROR"
    debootstrap --variant=minbase "$SUITE" "$base" "$MIRROR" >"$work/debootstrap.log" 2>&1 ||
        die "debootstrap failed: $(tail -n 1 "$work/debootstrap.log")"
fi

# The tree as a clone would have it, with what is not committed yet: never what was built.
git ls-files -z --cached --others --exclude-standard |
    tar --null --files-from=- --ignore-failed-read -cf "$work/tree.tar" 2>/dev/null

# fresh NAME: a copy of the empty root with the tree in /tessera.
fresh() {
    root=$work/$1
    cp -a "$base" "$root"
    [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir -p "$root/tessera"
    tar -xf "$work/tree.tar" -C "$root/tessera" --no-same-owner
}

# inside COMMAND: runs it in $root with a /proc of its own, which goes when the command ends.
inside() {
    unshare --mount --pid --fork --mount-proc="$root/proc" \
        chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} sh -c "$1" </dev/null
}

# trial COMMAND: shows the end of what it said, and how long it took.
trial() {
    say "$(basename "$root"): $1"
    start=$(date +%s)
    if inside "$1" >"$work/log" 2>&1; then
        grep '^setup: ' "$work/log" || :
        grep -v '^setup: ' "$work/log" | tail -n 12
        echo "($(($(date +%s) - start)) s)"
    else
        tail -n 60 "$work/log"
        die "failed in $root: $1"
    fi
}
packages() { inside 'dpkg-query -W' | cksum; }

fresh bare
trial 'cd /tessera && sh setup.sh && make demo'
before=$(packages)
trial 'cd /tessera && sh setup.sh && make check'
trial 'cd /tessera && sh setup.sh && make demo'
[ "$(packages)" = "$before" ] || die "a second run installed packages"
grep -q '^setup: nothing to install' "$work/log" || die "a second run does not say that there was nothing to install"

fresh no-apt
inside 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends gcc libc6-dev make' \
    >"$work/log" 2>&1 || die "gcc and make could not be installed: $(tail -n 1 "$work/log")"
inside 'rm -f /usr/bin/apt* /usr/bin/dpkg*'
trial 'cd /tessera && sh setup.sh && make demo'
trial 'cd /tessera && sh setup.sh && make check'

cp -a "$root" "$work/user"
root=$work/user
inside 'rm -rf /tessera/build && chown -R nobody /tessera'
trial 'chroot --userspec=nobody / sh -c "cd /tessera && sh setup.sh && make demo"'
trial 'chroot --userspec=nobody / sh -c "cd /tessera && sh setup.sh && make check"'

say "every trial passed"
