#!/bin/sh
# scripts/cpu.sh [OUTDIR]: builds, verifies and measures the CPU of this machine, and writes the results to OUTDIR,
# or to bench/results/<the processor's name>. Under ten minutes on an idle machine; nothing is installed.
#
#   NAME=...    the directory under bench/results, instead of the processor's name
#   PEERS=...   what to compare with, as bench --peer takes it; default: openblas and blis, those that are here
#   BUILD=...   the build directory, default build
#   STEPS=...   only these, of: verify devices squares small shapes batch types layouts repeats ladder numpy
#   QUICK=1     tiny sizes, to try the script itself
#
# A step that fails does not stop the others; it is named at the end, and the exit status is 1. The files hold no
# names and no paths of the machine, so that they can be kept beside those of others.
set -u

out=${1-}
case $out in
-h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) echo "cpu.sh: '$out' is no option; sh scripts/cpu.sh --help" >&2; exit 2 ;;
'' | /*) ;;
*) out=$PWD/$out ;;
esac
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
tessera=$build/tessera
unset TESSERA_DEVICE TESSERA_PEER TESSERA_CPU_ISA TESSERA_NUM_THREADS OMP_NUM_THREADS
# Peers are told their threads by bench, but never get more than these say.
unset OPENBLAS_NUM_THREADS GOTO_NUM_THREADS BLIS_NUM_THREADS MKL_NUM_THREADS

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

. scripts/lib.sh

every_step="verify devices squares small shapes batch types layouts repeats ladder numpy"
# Words, not one argument.
# shellcheck disable=SC2086
known_steps "$every_step" ${STEPS:=$every_step}

# A machine without make can measure what was built elsewhere. A build that failed leaves nothing worth measuring.
if command -v make >/dev/null || [ ! -x "$tessera" ]; then
    step build make -j "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" BUILD="$build"
    [ -z "$failed" ] || exit 1
fi

cpu() { device_fact cpu "$1"; }

if [ -z "$out" ]; then
    name=${NAME:-$(cpu model | slug)}
    out=bench/results/${name:-unknown}
fi
mkdir -p "$out" || exit 1

has_peer() { "$tessera" bench 0 --device cpu --peer "$1" --sizes 8 --samples 1 --quiet >/dev/null 2>&1; }

# The OpenBLAS inside NumPy stands in where there is no other.
find_peers() {
    found=
    if has_peer openblas; then found=openblas; elif has_peer numpy; then found=numpy; fi
    if has_peer blis; then found=${found:+$found,}blis; fi
    echo "${found:-none}"
}
peers=${PEERS:-$(find_peers)}

all=$(cpu threads)
all=${all:-1}
threads=1
[ "$all" -eq 1 ] || threads=1,$all

if [ "${QUICK:-0}" = 1 ]; then
    squares=32,64 largest=96 small=8,16 large=64,96 middle=64 ladder=32 batch=10 repeats=3 seconds=0.01 numpy=4,8
    shapes=1x64x64,64x1x64,64x4x64,4x64x64,8x8x256,256x8x8
    checks='--count 2 --max-size 24'
else
    squares=256:2048:x2 largest=4096 small=8,16,24,32,48,64,96,128 large=1024,2048 middle=1024 ladder=512 batch=1000 repeats=101 seconds=0.2 numpy=
    shapes=1x4096x4096,4096x1x4096,4096x16x4096,16x4096x4096,128x128x65536,65536x64x64
    checks=
fi

bench() { "$tessera" bench --device cpu --min-time "$seconds" "$@"; }

# Of the largest, which take a second each, the time that is enough for others would give three samples.
squares() {
    bad=0
    bench auto --sizes $squares --type f32,f64 --threads "$threads" --peer "$peers" --csv "$scratch/squares.csv" || bad=1
    bench auto --sizes $largest --type f32,f64 --threads "$threads" --peer "$peers" --samples 11 --csv "$scratch/largest.csv" || bad=1
    join_csv "$scratch/squares.csv" "$scratch/largest.csv" >"$out/squares.csv" || bad=1
    return $bad
}

# bench takes one layout at a time: the rows of four runs under one heading.
layouts() {
    bad=0
    for layout in nn nt tn tt ss; do
        bench auto --sizes $middle --threads 1 --layout $layout --peer "$peers" --csv "$scratch/$layout.csv" || bad=1
    done
    (cd "$scratch" && join_csv nn.csv nt.csv tn.csv tt.csv ss.csv) >"$out/layouts.csv" || bad=1
    return $bad
}

# A program that is not ours, with our products.
numpy() {
    # No argument where all sizes are meant.
    # shellcheck disable=SC2086
    python3 scripts/numpy-timing.py "$build/libtessera-blas.so" "$out/numpy.csv" $numpy
}

# Peers without the directories they lie in.
devices() {
    {
        "$tessera" --version && date -u '+measured %Y-%m-%d' && echo && "$tessera" devices --measure
    } >"$scratch/devices" || return 1
    {
        sed 's|^\(  [a-z]* *\)/[^,]*/|\1|' "$scratch/devices"
        echo
        if command -v lscpu >/dev/null; then
            LC_ALL=C lscpu | grep -E '^(Architecture|CPU\(s\)|Model name|Thread|Core|Socket|Cluster|CPU max|L[123]|NUMA node\(s\)|Hypervisor|Flags)'
        else
            grep -m 1 -i 'model name' /proc/cpuinfo || uname -m
        fi
    } >"$out/devices.txt"
}

echo "cpu      $(cpu model), threads $threads, peers $peers, results in $out"
# wanted NAME COMMAND...: that step, if it is asked for.
wanted() { case " $STEPS " in *" $1 "*) step "$@" ;; esac; }

# Words, not one argument: the checks are options.
# shellcheck disable=SC2086
wanted verify "$tessera" verify --device cpu $checks
wanted devices devices
wanted squares squares
wanted small bench auto --sizes $small --type f32,f64 --threads 1 --peer "$peers" --csv "$out/small.csv"
wanted shapes bench auto --shape $shapes --threads "$threads" --peer "$peers" --csv "$out/shapes.csv"
wanted batch bench auto --shape 32x32x32 --batch $batch --type f32,f64 --threads "$all" --peer "$peers" --csv "$out/batch.csv"
wanted types bench auto --sizes $large --type f32,f16,bf16,i8,i32 --threads 1 --peer none --csv "$out/types.csv"
wanted layouts layouts
wanted repeats bench_again "$out/repeats.csv" $repeats auto --device cpu --sizes 96,384 --threads 1 --min-time 0.1
wanted ladder bench --sizes $ladder --threads "$threads" --peer "$peers" --csv "$out/ladder.csv"
case " $STEPS " in
*" numpy "*) if python3 -c 'import numpy' 2>/dev/null; then step numpy numpy; else echo "skipped      numpy: there is none here"; fi ;;
esac

[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
