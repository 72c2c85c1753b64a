#!/bin/sh
# tests/run.sh: what `make check` runs. One line for each runner, with its counts and seconds; what a runner said
# is shown if something failed and kept in $BUILD/tests/NAME.log. The last line is the sum.
#
# A runner's last line ends in "N passed, N failed[, N skipped]". One that dies, exits non-zero with nothing
# failed, or says no counts, counts as failed. Reads BUILD, CC, CXX, MAKE from the environment.
set -u
cd "$(dirname "$0")/.." || exit
export BUILD="${BUILD:-build}"
# What the tests compile is kept apart from what the user has compiled.
case $BUILD in /*) TESSERA_CACHE_DIR=$BUILD/tests/cache ;; *) TESSERA_CACHE_DIR=$PWD/$BUILD/tests/cache ;; esac
export TESSERA_CACHE_DIR
passed=0
failed=0
skipped=0

# The number before a word in a runner's last line; 0 if the word is not there.
count() { printf '%s\n' "$1" | sed -n "s/.*[^0-9]\([0-9][0-9]*\) $2.*/\1/p" | grep . || echo 0; }

# A short log whole; of a long one what failed, and the end.
excerpt() {
    if [ "$(wc -l <"$1")" -le 60 ]; then cat "$1"
    else grep -E -A 4 'FAIL|not so:' "$1" | head -n 60; echo ...; tail -n 10 "$1"; fi
}

# measure NAME COMMAND...: runs it; what it said is in its log, how it ended and how long it took in NAME.ended.
measure() {
    name=$1
    shift
    start=$(date +%s)
    "$@" >"$BUILD/tests/$name.log" 2>&1 </dev/null
    echo "$? $(($(date +%s) - start)) $*" >"$BUILD/tests/$name.ended"
}

# show NAME: a line for what was measured, and more if something failed.
show() {
    name=$1
    log=$BUILD/tests/$name.log
    read -r status seconds command <"$BUILD/tests/$name.ended"
    line=" $(grep -E '[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)"
    p=$(count "$line" passed)
    f=$(count "$line" failed)
    s=$(count "$line" skipped)
    problem=
    if [ "$line" = " " ]; then problem="it printed no counts (exit code $status)"; f=1
    elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then problem="exit code $status though nothing failed"; f=1
    elif [ "$status" -eq 0 ] && [ "$f" -ne 0 ]; then problem="exit code 0 though something failed"; fi
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + s))
    tail=
    [ "$s" -eq 0 ] || tail=", $s skipped"
    printf '%-10s %6d passed, %d failed%s  (%d s)\n' "$name" "$p" "$f" "$tail" "$seconds"
    grep -E '^ *skip' "$log" | sed 's/^/    /'
    if [ "$f" -ne 0 ]; then
        [ -z "$problem" ] || echo "    $name: $problem"
        excerpt "$log" | sed 's/^/    /'
        echo "    all of it: $log; again: $command"
    fi
}

# runner NAME COMMAND...
runner() {
    measure "$@"
    show "$1"
}

# both NAME NAME: two runners that keep one core busy each, side by side: tests/NAME.sh, or what is below.
alone() {
    case $1 in
    format) measure format sh tests/run.sh format ;;
    # The CUDA device on a driver that stands in for a GPU.
    standin) measure standin env TESSERA_DEVICE=cuda TESSERA_LIBRARY_PATH="$BUILD/tests/standin" \
        TESSERA_CACHE_DIR="$BUILD/tests/standin/cache" "$BUILD/tests/tests" gpu ;;
    *) measure "$1" sh "tests/$1.sh" "$BUILD" ;;
    esac
}
both() {
    alone "$1" &
    alone "$2"
    wait
    show "$1"
    show "$2"
}

# Each example is a program that checks itself.
examples() {
    . tests/lib.sh
    for source in examples/*.c; do
        [ -e "$source" ] || continue
        try "$source" "$BUILD/examples/$(basename "$source" .c)"
    done
    finish examples
}

format() {
    . tests/lib.sh
    sh scripts/format.sh check
    case $? in
    0) pass ;;
    77) skip "formatting: no clang-format 14 here" ;;
    *) fail "the sources are not as .clang-format wants them" ;;
    esac
    finish format
}

case "${1-}" in
examples | format) "$1"; exit ;;
'') ;;
*) echo "usage: sh tests/run.sh [examples|format]" >&2; exit 2 ;;
esac

mkdir -p "$BUILD/tests"
# Two processes: most of the tests keep one core busy.
runner unit "$BUILD/tests/tests" --jobs=2
# The instruction sets below the best one, which the run above used.
case $(uname -m) in
aarch64) lesser="neon-i8mm neon-dotprod neon portable" ;;
x86_64) lesser="avx2 portable" ;;
*) lesser= ;;
esac
for isa in $lesser; do
    if TESSERA_CPU_ISA=$isa "$BUILD/tessera" bench 1 --sizes 4 --peer none >/dev/null 2>&1; then
        runner "$isa" env TESSERA_CPU_ISA="$isa" TESSERA_TEST_SHORT=1 "$BUILD/tests/tests" gemm
    fi
done
both cli multiply
both compare libraries
both standin cuda
both sim counters
both explain report
both demo format
runner examples sh tests/run.sh examples
runner symbols sh tests/symbols.sh
runner header sh tests/header.sh
runner install sh tests/install.sh
runner docs sh tests/docs.sh

line="$passed passed, $failed failed"
[ $skipped -eq 0 ] || line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ]
