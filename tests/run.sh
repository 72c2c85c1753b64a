#!/bin/sh
# tests/run.sh: what `make check` runs, two runners at a time. One line for each, with its counts and seconds; what a runner said
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

# judge NAME: $p, $f and $s, what passed, failed and was skipped there, and $problem, what is wrong beside.
judge() {
    name=$1
    log=$BUILD/tests/$name.log
    status=unknown seconds=0 command=
    [ ! -e "$BUILD/tests/$name.ended" ] || read -r status seconds command <"$BUILD/tests/$name.ended"
    line=" $(grep -E '[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)"
    p=$(count "$line" passed)
    f=$(count "$line" failed)
    s=$(count "$line" skipped)
    problem=
    if [ $status = unknown ]; then problem="it did not come to its end"; f=1
    elif [ "$line" = " " ]; then problem="it printed no counts (exit code $status)"; f=1
    elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then problem="exit code $status though nothing failed"; f=1
    elif [ "$status" -eq 0 ] && [ "$f" -ne 0 ]; then problem="exit code 0 though something failed"; fi
}

# show NAME: a line for what was measured, and more if something failed; all of it at once, as two may be shown.
show() {
    judge "$1"
    tail=
    [ "$s" -eq 0 ] || tail=", $s skipped"
    {
        printf '%-10s %6d passed, %d failed%s  (%d s)\n' "$name" "$p" "$f" "$tail" "$seconds"
        grep -E '^ *skip' "$log" | sed 's/^/    /'
        if [ "$f" -ne 0 ]; then
            [ -z "$problem" ] || echo "    $name: $problem"
            excerpt "$log" | sed 's/^/    /'
            echo "    all of it: $log; again: $command"
        fi
    } >"$BUILD/tests/$name.shown"
    cat "$BUILD/tests/$name.shown"
}

# run NAME: what is below, or tests/NAME.sh.
run() {
    tests=$BUILD/tests/tests
    case $1 in
    # Two processes: most of the tests keep one core busy.
    unit) measure unit "$tests" --jobs=2 ;;
    # An instruction set below the best one.
    avx2 | neon* | portable) measure "$1" env TESSERA_CPU_ISA="$1" TESSERA_TEST_SHORT=1 "$tests" gemm ;;
    # The CUDA device on a driver that stands in for a GPU.
    standin) measure standin env TESSERA_DEVICE=cuda TESSERA_LIBRARY_PATH="$BUILD/tests/standin" \
        TESSERA_CACHE_DIR="$BUILD/tests/standin/cache" "$tests" gpu ;;
    examples | format) measure "$1" sh tests/run.sh "$1" ;;
    *) measure "$1" sh "tests/$1.sh" "$BUILD" ;;
    esac
    show "$1"
}

# take NAME...: runs those that nobody else has taken.
take() {
    for name; do
        if mkdir "$BUILD/tests/$name.taken" 2>/dev/null; then run "$name"; fi
    done
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

# The best instruction set is that of the unit tests; these are the others that this machine has.
lesser() {
    case $(uname -m) in
    aarch64) set -- neon-i8mm neon-dotprod neon portable ;;
    x86_64) set -- avx2 portable ;;
    *) set -- ;;
    esac
    for isa; do
        TESSERA_CPU_ISA=$isa "$BUILD/tessera" bench 1 --sizes 4 --peer none >/dev/null 2>&1 && echo "$isa"
    done
}

mkdir -p "$BUILD/tests"
rm -rf "$BUILD"/tests/*.taken "$BUILD"/tests/*.ended
# Most keep one core busy: two at a time, the longest first.
beside="sim report explain counters standin cli demo multiply format cuda $(lesser) compare outputs libraries"
after="examples blas symbols header install docs"
run unit
take $beside &
trap 'kill $! 2>/dev/null; exit 130' INT TERM
take $beside
wait
trap - INT TERM
take $after
for name in unit $beside $after; do
    judge "$name"
    [ $status != unknown ] || show "$name"
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + s))
done

line="$passed passed, $failed failed"
[ $skipped -eq 0 ] || line="$line, $skipped skipped"
echo "$line"
[ $failed -eq 0 ]
