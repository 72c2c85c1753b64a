#!/bin/sh
# multiply.sh [BUILD_DIR]: `tessera multiply`: right for every kind of .npy file, a sentence for every bad one, and
# never half an output.
#
# Files are made by tests/tools/npy_make.c, which shares no code with the command; results are compared byte by
# byte. A test prints only when it fails.
set -u
LC_ALL=C
export LC_ALL
unset TESSERA_DEVICE TESSERA_VERBOSE NO_COLOR
build=${1:-build}
root=$(cd "$(dirname "$0")/.." && pwd)
case $build in /*) ;; *) build=$PWD/$build ;; esac
# shellcheck source=tests/lib.sh
. "$root/tests/lib.sh"
# shellcheck source=tests/multiply_bad.sh
. "$root/tests/multiply_bad.sh"
make=$build/tests/tools/npy_make
if [ ! -x "$build/tessera" ] || [ ! -x "$make" ]; then
    fail "there is no $build/tessera or no $make; run make all tests first"
    finish multiply
    exit
fi
# A copy, so that another user can run it.
cp "$build/tessera" "$work/tessera"
tessera=$work/tessera
chmod 755 "$work"
mkdir "$work/here"
cd "$work/here" || exit

run() { # arguments: what it did is in $status, ../out and ../err
    ran="tessera $*"
    "$tessera" "$@" >../out 2>../err </dev/null
    status=$?
}
complain() { # what, expected: the last run was wrong
    fail "$1: $ran"
    printf '    expected %s\n    got exit %s: %s\n' "$2" "$status" "$(head -n 3 ../err)"
}
check() { # what, status, text in ../err
    if [ "$status" -ne "$2" ]; then complain "$1" "exit $2"
    elif [ -n "$3" ] && ! grep -qF -e "$3" ../err; then complain "$1" "'$3'"
    else pass; fi
}
# One sentence, the exit code, nothing on stdout, and no file that was not there before.
refuse() { # what, text, status, arguments...
    what=$1 text=$2 wanted=$3
    shift 3
    ls -A >../before
    run "$@"
    ls -A >../after
    check "$what" "$wanted" "$text"
    if [ "$(wc -l <../err)" -ne 1 ] || ! grep -q '^tessera: ' ../err; then complain "$what" 'one sentence'
    elif [ -s ../out ]; then complain "$what" 'nothing on stdout'
    elif ! cmp -s ../before ../after; then complain "$what" 'no new file'
    else pass; fi
}
# Multiplies, and compares the output with the file ../want.
right() { # what, arguments before -o...
    what=$1
    shift
    run multiply "$@" --quiet -o c.npy
    if [ "$status" -ne 0 ]; then complain "$what" 'exit 0'
    elif ! cmp -s c.npy ../want; then complain "$what" 'equal bytes'
    elif [ -s ../err ]; then complain "$what" 'nothing on stderr'
    else pass; fi
}
# shellcheck disable=SC2059
byte() { printf "\\$(printf %03o "$1")"; }
# A file with any header: name, version, text of the header, file with its data.
raw() {
    length=${#3}
    {
        printf '\223NUMPY'; byte "$2"; byte 0
        byte $((length % 256)); byte $((length / 256))
        [ "$2" = 1 ] || { byte 0; byte 0; }
        printf %s "$3"
        [ $# -lt 4 ] || cat "$4"
    } >"$1"
}

every_kind_of_file() {
    for row in f2:'<f2' f4:'<f4' f8:'<f8' i1:'<i4' i4:'<i4' u2:'<u2'; do
        code=${row%%:*} out=${row#*:} flag=
        [ "$code" != u2 ] || flag=--bf16
        for order in C F; do
            "$make" ../want "$out" $order 1 7x5 ab:13
            for end in '<' '>'; do
                [ "$code" != i1 ] || end='|'
                for version in 1 2 3; do
                    "$make" a.npy "$end$code" $order $version 7x13 a
                    "$make" b.npy "$end$code" $order $version 13x5 b
                    right "$end$code, order $order, version $version" a.npy b.npy --order $order $flag
                done
            done
        done
        # Not the same order and byte order on both sides.
        "$make" a.npy "<$code" F 1 7x13 a
        "$make" b.npy ">$code" C 2 13x5 b
        right "$code, mixed" a.npy b.npy --order F $flag
    done
    for row in f2: u2:--bf16; do
        "$make" a.npy "<${row%%:*}" C 1 7x13 a
        "$make" b.npy "<${row%%:*}" C 1 13x5 b
        "$make" ../want '<f4' C 1 7x5 ab:13
        # shellcheck disable=SC2086
        right "${row%%:*} gives f32" a.npy b.npy --type f32 ${row#*:}
    done
    "$make" a.npy '|V2' C 1 7x13 a
    "$make" b.npy '|V2' C 1 13x5 b
    "$make" ../want '<u2' C 1 7x5 ab:13
    right 'V2, as other libraries save bf16' a.npy b.npy --bf16
}

every_shape() {
    # A's, B's and C's shape; k
    for row in 1!x13,13x5,1!x5,13 7x13,13x1!,7x1!,13 1!x13,13x1!,1!x1!,13 1x1,1x1,1x1,1 300x1,1x200,300x200,1 \
        4x7x13,4x13x5,4x7x5,13 0x3,3x4,0x4,3 3x0,0x4,3x4,0 0x0,0x0,0x0,0 0x2x3,0x3x2,0x2x2,3 130x70,70x90,130x90,70; do
        IFS=, read -r a b c k <<ROW
$row
ROW
        for order in C F; do
            "$make" a.npy '<f8' $order 1 "$a" a
            "$make" b.npy '<f8' $order 1 "$b" b
            "$make" ../want '<f8' $order 1 "$c" "ab:$k"
            right "$a times $b, order $order" a.npy b.npy --order $order
        done
    done
    # A matrix that goes with every matrix of a stack is the first one: values depend on the index in it.
    "$make" a.npy '<i4' C 1 7x13 a
    "$make" b.npy '<i4' C 1 1x13x5 b
    "$make" ../want '<i4' C 1 1x7x5 ab:13
    right 'a matrix and a stack of one' a.npy b.npy
    "$make" b.npy '<i4' C 1 4x13x5 b
    run multiply a.npy b.npy -o c.npy
    check 'a matrix and a stack' 0 ''
    "$make" b.npy '<i4' C 1 13x5 b
    run multiply a.npy b.npy -o d.npy
    tail -c 140 d.npy >../first
    tail -c 560 c.npy | head -c 140 >../second
    same 'the first of a stack is the product alone' ../first ../second
    rm d.npy
}

alpha_beta_and_accumulate() {
    for code in f4 f8 i4; do
        "$make" a.npy "<$code" C 1 7x13 a
        "$make" b.npy "<$code" C 1 13x5 b
        "$make" ../want "<$code" C 1 7x5 ab:13 3 0
        right "$code: alpha" a.npy b.npy --alpha 3
        for order in C F; do
            for end in '<' '>'; do
                "$make" c.npy "$end$code" $order 1 7x5 c
                "$make" ../want "<$code" $order 1 7x5 ab:13 1 1
                right "$end$code, order $order: accumulate" a.npy b.npy --accumulate
            done
            "$make" c.npy "<$code" $order 1 7x5 c
            "$make" ../want "<$code" F 1 7x5 ab:13 -2 3
            right "$code: accumulate from order $order into F" a.npy b.npy --accumulate --alpha -2 --beta 3 --order F
        done
    done
    "$make" a.npy '<f2' C 1 4x7x13 a
    "$make" b.npy '<f2' F 1 4x13x5 b
    "$make" c.npy '<f4' F 1 4x7x5 c
    "$make" ../want '<f4' C 1 4x7x5 ab:13 1 -1
    right 'a stack of f16 on f32' a.npy b.npy --accumulate --beta -1 --order C
    "$make" c.npy '<f4' C 1 4x7x6 c
    cp c.npy ../kept
    refuse 'accumulate on another shape' "'c.npy' is 4×7×6 (f32), but the product is 4×7×5" 1 multiply a.npy b.npy --accumulate -o c.npy
    refuse 'accumulate on another type' "f16 gives f16 or f32" 1 multiply a.npy b.npy --accumulate -o b8.npy
    refuse 'accumulate on nothing' 'does not exist' 1 multiply a.npy b.npy --accumulate -o none.npy
    refuse 'beta without accumulate' '--accumulate' 2 multiply a.npy b.npy --beta 1 -o c.npy
    same 'a refused output is as it was' ../kept c.npy
    "$make" a.npy '|i1' C 1 7x13 a
    "$make" b.npy '|i1' C 1 13x5 b
    refuse 'a fraction of an integer' 'alpha' 1 multiply a.npy b.npy --alpha 0.5 -o none.npy
}

outputs_appear_whole() {
    mkdir dir2
    ( umask 027; "$tessera" multiply a.npy b.npy -o dir2/new.npy --quiet )
    try 'a new file has the usual permissions' [ "$(ls -l dir2/new.npy | cut -c 1-10)" = -rw-r----- ]
    chmod 604 dir2/new.npy
    ln -s new.npy dir2/link
    run multiply a.npy b.npy -o dir2/link
    try 'a replaced file keeps its permissions' [ "$(ls -l dir2/new.npy | cut -c 1-10)" = -rw----r-- ]
    try 'a link stays one' [ -L dir2/link ]
    same 'a link is followed' ../want dir2/new.npy
    try 'closing line' grep -q '^dir2/link: 64×64 (f32) from 64×64 times 64×64 (f32), .* GFLOPS, [a-z]*_' ../out
    long=$(printf 'n%.0s' 1 2 3 4 5 6 7 8 9 10)
    long=$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long$long
    run multiply a.npy b.npy -o "dir2/$long"
    check 'a long name' 0 ''
    rm "dir2/$long"
    cp dir2/new.npy ../kept
    # 16 KB do not fit in 8: a sentence, not a signal.
    ran='ulimit -f 16; tessera multiply a.npy b.npy -o dir2/new.npy'
    ( ulimit -f 16; exec "$tessera" multiply a.npy b.npy -o dir2/new.npy >../out 2>../err )
    status=$?
    check 'a limit on file sizes' 1 "could not write 'dir2/new.npy': File too large (it needs 0.0 MB)"
    same 'beyond the limit, the old file is as it was' ../kept dir2/new.npy
    if unshare -m mount -t tmpfs none /proc 2>/dev/null; then
        ran='tessera multiply on a full disk'
        unshare -m sh -c "mount -t tmpfs -o size=8k none dir && { '$tessera' multiply a.npy b.npy -o dir/c.npy; echo \$?; ls -A dir; }" >../out 2>../err
        status=$(head -n 1 ../out)
        check 'a full disk' 1 "could not write 'dir/c.npy': No space left on device"
        try 'a full disk: no file is left' [ "$(wc -l <../out)" -eq 1 ]
        unshare -m sh -c "mount -t tmpfs -o ro none dir && { '$tessera' multiply a.npy b.npy -o dir/c.npy; echo \$?; }" >../out 2>../err
        status=$(head -n 1 ../out)
        check 'a disk that is read-only' 1 "could not write 'dir/c.npy': Read-only file system"
        # Without /proc a file must have a name while it is written.
        unshare -m sh -c "mount -t tmpfs none /proc && { '$tessera' multiply a.npy b.npy -o dir2/new.npy; echo \$?; }" >../out 2>../err
        status=$(tail -n 1 ../out)
        check 'without /proc' 0 ''
        same 'without /proc: the result' ../want dir2/new.npy
    else skip 'full and read-only disks, no /proc: cannot mount here'; fi
    try 'no file is left' [ "$(ls -A dir2)" = "$(printf 'link\nnew.npy')" ]
}

# Until the output of $child is mapped: from then on it multiplies.
wait_for_product() {
    if [ ! -r /proc/self/maps ]; then sleep 0.3; fi
    while [ -r /proc/$child/maps ] && ! grep -q /dir3/ /proc/$child/maps; do sleep 0.02; done 2>/dev/null
}

# Starts a product that takes most of a second or more, sends signals in the midst of it, and waits.
interrupt() { # status, signals, command before tessera...
    wanted=$1 signals=$2
    shift 2
    ran="${*:-} tessera multiply slow.npy slow.npy -o dir3/c.npy; signals $signals"
    "$@" "$tessera" multiply slow.npy slow.npy -o dir3/c.npy --kernel cpu_01_naive --threads 1 >../out 2>../err &
    child=$!
    wait_for_product
    for signal in $signals; do
        ls -A dir3 >../during
        kill -"$signal" $child
        sleep 0.1
    done 2>/dev/null
    wait $child 2>/dev/null
    status=$?
    check "signals $signals" "$wanted" ''
    same "signals $signals: the old file is as it was" ../kept dir3/c.npy
    try "signals $signals: no file is left" [ "$(ls -A dir3)" = c.npy ]
}

# nohup's children, and theirs, do not hear it.
hear_hangups() { ! sh -c 'kill -HUP $$; echo deaf' 2>/dev/null | grep -q deaf; }

signals_leave_nothing() {
    mkdir dir3
    "$make" slow.npy '<f4' C 1 1000x1000 a
    echo precious >../kept
    cp ../kept dir3/c.npy
    interrupt 130 INT
    try 'an interrupt is said' grep -q "^tessera: interrupted: 'dir3/c.npy' is as it was before" ../err
    interrupt 143 TERM
    interrupt 130 'INT INT'
    try 'a second interrupt ends it at once' [ ! -s ../err ]
    if hear_hangups; then interrupt 129 HUP; else skip 'hangups are ignored here'; fi
    interrupt 137 KILL
    if unshare -m mount -t tmpfs none /proc 2>/dev/null; then
        named() { exec unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
        interrupt 130 INT named
        interrupt 143 'TERM TERM' named
        if hear_hangups; then interrupt 129 HUP named; fi
        try 'without /proc the unfinished file has a name' grep -q '^\.tessera-' ../during
    fi
    ran='tessera multiply, while an input is cut short'
    cp slow.npy cut.npy
    "$tessera" multiply cut.npy slow.npy -o dir3/c.npy --kernel cpu_01_naive --threads 1 >../out 2>../err &
    child=$!
    wait_for_product
    : >cut.npy
    wait $child
    status=$?
    check 'an input cut short while it is read' 1 'tessera: an input was cut short'
    try "an input cut short: no file is left" [ "$(ls -A dir3)" = c.npy ]
}

steps_and_progress() {
    # Enough work for two steps on one thread, and for one on two.
    "$make" big_a.npy '<f4' C 1 2048x2600 a
    "$make" big_b.npy '<f4' C 1 2600x4096 b
    run multiply big_a.npy big_b.npy -o c.npy --threads 2
    cp c.npy d.npy
    run multiply big_a.npy big_b.npy -o c.npy --threads 1
    try 'no progress without a terminal' [ ! -s ../err ]
    same 'two steps give the bits of one' d.npy c.npy
    ran='tessera multiply big_a.npy big_b.npy -o c.npy --accumulate --beta -1 --threads 1'
    if script -qec true /dev/null >/dev/null 2>&1; then
        TERM=xterm script -qec "'$tessera' ${ran#tessera }" /dev/null >../out 2>&1 </dev/null
        try 'progress' grep -q '\] *[0-9]* %  [0-9.]* GFLOPS  [0-9]*:[0-9]* left' ../out
    else
        skip 'progress on a terminal: no script(1) here'
        # shellcheck disable=SC2086
        run ${ran#tessera }
    fi
    try 'a product less itself is 0, in two steps' [ "$(tail -c +129 c.npy | tr -d '\000' | wc -c)" -eq 0 ]
    rm d.npy
}

memory_is_bounded() {
    "$make" big_a.npy '<f4' C 1 16384x1024 a
    "$make" big_b.npy '<f4' C 1 1024x1024 b
    ran='TESSERA_VERBOSE=1 tessera multiply big_a.npy big_b.npy -o c.npy'
    TESSERA_VERBOSE=1 "$tessera" multiply big_a.npy big_b.npy -o c.npy >../out 2>../err
    status=$?
    check 'memory: it runs' 0 'memory: '
    # Kilobytes: A 65536, B 4096, C 65536; beyond them 65536.
    anonymous=$(sed -n 's/.*RssAnon \([0-9]*\) kB.*/\1/p' ../err)
    peak=$(sed -n 's/.*VmHWM \([0-9]*\) kB.*/\1/p' ../err)
    if [ -z "$peak" ] || [ -z "$anonymous" ]; then skip 'memory: the system does not say'; return; fi
    try "memory: $anonymous kB beside the files; 65536 are allowed" [ "$anonymous" -le 65536 ]
    try "memory: $peak kB at the peak; 200704 are allowed" [ "$peak" -le 200704 ]
    rm -f big_a.npy big_b.npy c.npy
}

numpy_agrees() {
    if ! python3 -c 'import numpy' 2>/dev/null; then skip 'numpy.matmul: no NumPy here'; return; fi
    cat >../compare.py <<'PYTHON'
import itertools, subprocess, sys
import numpy as np
rng = np.random.default_rng(1)
for dtype, (a, b), order in itertools.product(
        ['<f4', '>f8', '<i4'], [((9, 8), (8, 7)), ((8,), (8, 7)), ((9, 8), (8,)), ((8,), (8,)), ((3, 9, 8), (8, 7)),
                                ((9, 8), (3, 8, 7))], 'CF'):
    x, y = (np.asarray(rng.integers(-9, 9, s).astype(dtype), order=order) for s in (a, b))
    np.save('x.npy', x); np.save('y.npy', y)
    subprocess.run([sys.argv[1], 'multiply', 'x.npy', 'y.npy', '-o', 'z.npy', '--quiet', '--order', order], check=True)
    z = np.load('z.npy')
    assert z.shape == (x @ y).shape and (z == x @ y).all(), (dtype, a, b, order)
PYTHON
    try 'numpy.matmul' python3 ../compare.py "$tessera"
}

# Two seconds of bad headers, with sanitizers where the compiler has them; make fuzz takes a minute.
random_headers() {
    fuzz=$build/tests/fuzz/npy
    # shellcheck disable=SC2086
    if ${CC:-cc} -std=c11 -O1 -g -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all -I"$root/include" \
        -I"$root/cli" "$root/tests/fuzz/npy.c" "$root/cli/npy.c" -o ../fuzz 2>/dev/null && ASAN_OPTIONS=detect_leaks=0 ../fuzz 0 >/dev/null 2>&1; then
        fuzz=../fuzz
    fi
    # The reader allocates nothing, and looking for leaks takes longer than the rest.
    try 'random headers' env ASAN_OPTIONS=detect_leaks=0 "$fuzz" 2
}

every_kind_of_file
every_shape
rm -f ./*
"$make" b8.npy '<f8' C 1 4x7x5 c
alpha_beta_and_accumulate
rm -f ./*
wrong_command_lines
rm -f ./*
hostile_headers
rm -f ./*
cut_files
rm -f ./*
files_that_are_none
outputs_appear_whole
signals_leave_nothing
steps_and_progress
memory_is_bounded
numpy_agrees
random_headers
cd "$root" || exit
finish multiply
