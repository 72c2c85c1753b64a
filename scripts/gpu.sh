#!/bin/sh
# scripts/gpu.sh [STEP...]: builds, tests, verifies, measures and sanitizes on the GPU of this machine, and writes the
# results to ${OUT:-bench/results/<the card's name>}. Half an hour on an H200; nothing is installed.
#
#   build        make, and the tests
#   test         the tests that need a card
#   verify       every kernel on awkward shapes in all its types, some from host memory, and three thousand random
#                shapes on tensor cores
#   random       COUNT (10000) random shapes of up to LARGEST (2100) a side on what the planner takes for tensor cores; one that was
#                cut off is gone on with
#   ladder_f32   ladder-f32.csv: the ladder from one thread per element upwards, beside cuBLAS
#   ladder_i32   ladder-i32.csv: the same with integers, which cuBLAS does not multiply
#   ladder_f64   ladder-f64.csv: the same in f64, and its tensor cores
#   strict       true-fp32.csv: f32 by multiply-adds and nothing else, small products, squares and odd shapes, as the planner takes them
#   batches      batches.csv: batches of 4x4x4 to 128x128x128 in f32 and f64, as the planner takes them, in all orders
#   f64          f64.csv: what the planner takes for f64, small products, squares and odd shapes, beside cuBLAS
#   mma          ladder-mma.csv: the ladder on tensor cores, in the types they have
#   tensor       tensor.csv: wgmma's ladder, and the planner's choice in all types, orders and awkward shapes; Hopper only
#   small        small.csv: small, thin, deep and unaligned products on tensor cores, as the planner takes them; Hopper only
#   accurate     fp32-accurate.csv: f32 by parts on tensor cores beside cuBLAS's SGEMM, and accuracy.csv: the errors of both; Hopper only
#   accurate_shapes  accurate-shapes.csv: the planner's f32 and f32-strict on the shapes of bench/shapes, beside cuBLAS; Hopper only
#   tile         tile.csv: the tiles 16 and 32 of the kernels that have one
#   documents    documents.csv: the experiments of docs/LADDER.md, at the sizes and tiles they were published with
#   transfers    transfers.csv: products from host memory, with their copies
#   modes        modes.csv: one product in bursts, continuously and under the power limit; cold beside warm
#   repeats      repeats.csv: the same runs again and again, to see how far one differs from the next
#   torch        torch.csv: cuBLAS timed by PyTorch and by tessera; skipped where there is no PyTorch
#   numpy        numpy.csv: NumPy's products as they are, by the host, and with libtessera-blas on the card; skipped where there is no NumPy
#   hierarchy    hierarchy.csv: size, latency and bandwidth of each level of memory
#   environment  environment.json: the card, the libraries, what it can do at best
#   counters     counters.csv: what Nsight Compute counts for every simt kernel; counters-ncu.csv has all it said
#   counters_mma the same for the mma kernels: counters-mma.csv, counters-mma-ncu.csv
#   sanitize     compute-sanitizer's memcheck, racecheck, synccheck and initcheck over every kernel
#
# No words mean all of them; `quick` means build, verify and the f32 ladder at 4096, in under two minutes; `check` means
# what `make check-gpu` does: build test verify sanitize. What verify and sanitize found is in checks.txt.
#
#   OUT=...      where the results go
#   BUILD=...    the build directory, default build
#   DEVICE=...   the device, default cuda:0
#   SEED=...     of the data and shapes, default 1
#   COUNT=...    of random shapes, and LARGEST=... their largest side
#   FAMILIES=... what verify and sanitize look at, default "simt mma wgmma split"
#   FROM=N       documents, modes or tensor, alone: goes on with the Nth of its measurements; the file keeps what it has
#
# Results are written as they come. A step that fails does not stop the others; it is named at the end, and the exit status is 1. The files hold no names
# and no paths of the machine.
set -u

out=${OUT-}
case $out in '' | /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
tessera=$build/tessera
device=${DEVICE:-cuda:0}
seed=${SEED:-1}
families=${FAMILIES:-simt mma wgmma split}
from=${FROM:-1}
types=f32,f64,i32
tensor_types=f16,f16:f32,bf16,bf16:f32,i8,f32
unset TESSERA_DEVICE TESSERA_PEER TESSERA_KERNEL_DIR

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
. scripts/lib.sh

every_step="build test verify random ladder_f32 ladder_i32 ladder_f64 strict f64 batches mma tensor small accurate accurate_shapes tile documents transfers modes repeats torch numpy hierarchy environment counters counters_mma sanitize"
sizes=128:4096:x2
# Words, not one argument.
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $every_step
also='; or quick, or check'
case $1 in
quick) set -- build verify ladder_f32; sizes=4096 ;;
check) set -- build test verify sanitize ;;
*) known_steps "$every_step" "$@" ;;
esac

build() { make -j "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" BUILD="$build" all tests; }

# The build comes first: what is known of the card comes from the program.
case " $* " in
*" build "*)
    step build build
    [ -z "$failed" ] || exit 1 ;;
esac
model=$(device_fact "$device" model)
if [ -z "$model" ]; then
    echo "there is no GPU $device here, so nothing on it was checked or measured:"
    "$tessera" bench 1 --device "$device" --sizes 8 2>&1 | sed 's/^/    /'
    exit 1
fi
name=$(printf '%s\n' "$model" | slug | sed 's/^nvidia-//')
out=${out:-$PWD/bench/results/$name}
mkdir -p "$out" || exit 1
echo "gpu          $model, results in ${out#"$PWD"/}"

. scripts/gpu-checks.sh

# ---- How fast it is ----

bench() { "$tessera" bench --device "$device" --seed "$seed" "$@"; }

# ladder TYPE PEER: the whole ladder, the upper rungs on a larger product, and the kernel for vectors. The last rung is for
# batches: of a single product most of its block stands empty.
ladder() {
    bad=0
    top=
    [ "$1" != f64 ] || top=,mma_08_f64
    bench --kernels "simt_0*,simt_1[0-5]*$top" --sizes "$sizes" --type "$1" --peer "$2" --csv "$scratch/ladder.csv" || bad=1
    set -- "$1" "$2" "$scratch/ladder.csv"
    if [ "$sizes" != 4096 ]; then
        bench --kernels "simt_09*,simt_1[0-5]*$top" --sizes 8192 --type "$1" --peer "$2" --csv "$scratch/large.csv" || bad=1
        # The lower rungs take seconds there; the same kernels are checked on the smaller products.
        [ "$1" = i32 ] || bench --kernels 'simt_0[1-8]*' --sizes 8192 --type "$1" --peer "$2" --samples 3 --no-verify \
            --csv "$scratch/large.csv" --append || bad=1
        bench vector_01_shuffle --shape 4096x1x4096,1x4096x4096 --type "$1" --peer "$2" --csv "$scratch/vector.csv" || bad=1
        set -- "$@" "$scratch/large.csv" "$scratch/vector.csv"
    fi
    type=$1
    shift 2
    join_csv "$@" >"$out/ladder-$type.csv"
    return $bad
}

run_ladder_f32() { ladder f32 cublas; }
run_ladder_i32() { ladder i32 none; }
run_ladder_f64() { ladder f64 cublas; }
# What the planner takes where f32 must stay f32. Products below 5 ms are graphs of many calls, on both sides; call_ms is a single call. All cores
# compile first. Checking the largest would take longer than all the rest.
run_strict() {
    bad=0
    rm -f "$out/true-fp32.csv"
    for size in 32 128 256 512 1000 1023 1024 2048 2049; do
        echo "c-strict-$size auto --type f32 --compute f32-strict --sizes $size --no-verify --peer none --samples 1"
    done | all_at_once bench
    climb() {
        bench auto --type f32 --compute f32-strict --peer cublas --min-time 0.05 --max-time 0.2 --csv "$out/true-fp32.csv" --append "$@" || bad=1
    }
    climb --sizes 32,64,128,256,512,1000,1024,2048 --mode burst
    climb --sizes 3000,4095,4096 --shape 4097x4099x4101 --mode burst --no-verify
    climb --sizes 8192,16384 --mode burst --no-verify --samples 5
    # How long a single call takes there.
    bench 0 --type f32 --sizes 32,64,128,256,512,1000,1024 --no-verify --min-time 0 --samples 3 --csv "$out/true-fp32.csv" --append || bad=1
    return $bad
}
# What the planner takes for f64, which tensor cores multiply where the card has them for it. All cores compile first, every tile in every order.
run_f64() {
    bad=0
    rm -f "$out/f64.csv"
    for layout in nn nt tn tt; do
        for size in 32 128 256 511 512 1000 1024 2048 2049 3000; do
            echo "c-f64-$size-$layout auto --type f64 --sizes $size --layout $layout --no-verify --peer none --samples 1"
        done
    done | all_at_once bench
    climb() { bench auto --type f64 --peer cublas --mode burst --min-time 0.05 --max-time 0.2 --csv "$out/f64.csv" --append "$@" || bad=1; }
    climb --sizes 32,64,128,256,512,1000,1024,2048
    climb --sizes 3000,4095,4096 --shape 4097x4099x4101 --no-verify
    climb --sizes 8192 --no-verify --samples 5
    for layout in nt tn tt; do climb --sizes 512,4096 --layout $layout --no-verify; done
    for file in deep-k skinny; do climb --shapes $file --no-verify; done
    # How long a single call takes there.
    bench 0 --type f64 --sizes 32,64,128,256,512,1000,1024 --no-verify --min-time 0 --samples 3 --csv "$out/f64.csv" --append || bad=1
    return $bad
}
# Many small products in a call, about the same bytes in each. All cores compile first.
batches=4x4x4x100000,8x8x8x50000,16x16x16x20000,32x32x32x5000,64x64x64x1000,128x128x128x200
run_batches() {
    bad=0
    rm -f "$out/batches.csv"
    for way in 'f32 nn' 'f32 nt' 'f32 tn' 'f32 tt' 'f64 nn'; do
        for shape in $(echo $batches | tr ',' ' '); do
            echo "c-batch-${way% *}-${way#* }-$shape auto --type ${way% *} --layout ${way#* } --shape $shape --no-verify --peer none --samples 1"
        done
    done | all_at_once bench
    climb() {
        bench auto --shape $batches --peer cublas --mode burst --samples 9 --csv "$out/batches.csv" --append "$@" || bad=1
    }
    climb --type f32 --compute f32-strict
    for layout in nt tn tt; do climb --type f32 --compute f32-strict --layout $layout --no-verify; done
    climb --type f64 --no-verify
    return $bad
}
# Kernels for tensor cores take seconds to compile, each type and order anew: all cores do that first. What they compile is kept.
# compile_first TYPE LAYOUT KERNEL...
compile_first() {
    first_type=$1 first_layout=$2
    shift 2
    compute=
    [ "$first_type" != f32 ] || compute='--compute tf32'
    for kernel; do
        echo "c-$kernel-$first_type-$first_layout $kernel --type $first_type --layout $first_layout $compute --sizes 512 --no-verify --peer none --samples 1"
    done
}

# The second ladder. Where f32 and i8 must lie along k they are given so (nt), and once as rows, with the copy timed.
run_mma() {
    bad=0
    rm -f "$out/ladder-mma.csv"
    rungs=$(kernels_like mma | grep -v f64) # which is in the ladder of its type
    {
        compile_first bf16 nn $rungs
        compile_first f16:f32 nn mma_07_raster
        compile_first i8 nt $rungs
        compile_first f32 nt $rungs
    } | all_at_once bench
    climb() { bench --csv "$out/ladder-mma.csv" --append --peer cublas --max-time 0.3 "$@" || bad=1; }
    # Checking a product of 8192 takes the host longer than all the rest.
    for checked in '4096' '8192 --no-verify'; do
        # Words, not one argument.
        # shellcheck disable=SC2086
        {
            climb --kernels mma_07_raster --type bf16 --mode burst --sizes $checked
            climb --kernels mma_07_raster --type i8 --layout nt --mode burst --sizes $checked
            climb --kernels mma_07_raster --type f32 --compute tf32 --layout nt --mode burst --sizes $checked
        }
    done
    climb --kernels 'mma_0[1-7]*' --sizes 4096 --type bf16
    climb --kernels 'mma_0[1-7]*' --sizes 4096 --type i8 --layout nt
    climb --kernels 'mma_0[1-7]*' --sizes 4096 --type f32 --compute tf32 --layout nt
    climb --kernels mma_07_raster --sizes 4096 --type f16:f32
    climb --kernels 'mma_0[1-7]*' --sizes 1024,2048,8192 --type bf16 --no-verify
    # The errors of both on the same data.
    for kernel in 0 mma_07_raster; do
        climb $kernel --sizes 2048 --type f16,f16:f32,bf16,bf16:f32,i8
        climb $kernel --sizes 2048 --type f32 --compute tf32 --layout nt
    done
    return $bad
}

# What Hopper's tensor cores give, a line for each measurement. Most are not checked here: checking a large product takes the host longer
# than all the rest, and verify and random have these kernels check theirs on smaller ones.
tensor_cases() {
    cat <<'CASES'
auto --type bf16 --sizes 1024,2048,4096
auto --type bf16 --no-verify --sizes 8192,8191
--kernels wgmma_0[1-7]*,wgmma_1[0-2]* --type bf16 --no-verify --sizes 4096,8192
--kernels wgmma_0[78]* --type f32 --compute tf32 --no-verify --sizes 4096,8192
auto --type bf16:f32,f16,f16:f32 --no-verify --sizes 1024,2048,4096,8192
auto --type f32 --compute tf32 --layout nt --no-verify --sizes 2048,4096,8192
auto --type f32 --compute tf32 --no-verify --sizes 512,2048,4096,8192
auto --type i8 --layout nt --no-verify --sizes 4096,8192
auto --type i8 --no-verify --sizes 4096
auto --type bf16 --layout nt --no-verify --sizes 4096,8192
auto --type bf16 --layout tn --no-verify --sizes 4096,8192
auto --type bf16 --layout tt --no-verify --sizes 4096,8192
auto --type bf16 --no-verify --samples 5 --sizes 1304,1800,2200,2504,2936,3208,4616,5000,5840
auto --type bf16 --no-verify --samples 5 --sizes 1536,2176,2560,3200,3712,3840,5120,6144
auto --type bf16 --layout nt --no-verify --samples 5 --sizes 1536,2176,2560,3200,3712,3840,5120,6144
auto --type bf16:f32 --no-verify --samples 5 --sizes 1536,2560,3712
auto --type i8 --layout nt --no-verify --samples 5 --sizes 2048,2560,3840,5120
auto --type bf16,bf16:f32,f16,f16:f32 --no-verify --sizes 16384
auto --type f32 --compute tf32 --layout nt --no-verify --sizes 16384
auto --type f32 --compute tf32 --no-verify --sizes 16384
auto --type bf16 --no-verify --mode sustained --sizes 4096,8192
auto --type bf16 --sizes 1000,3000,4095 --shape 4097x4099x4101,3001x2999x3003
auto --type bf16 --no-verify --sizes 4090:4104:1
CASES
}
run_tensor() {
    if ! is_hopper; then
        echo "skipped      tensor: it is for sm_90"
        return
    fi
    bad=0
    [ "$from" -gt 1 ] || rm -f "$out/tensor.csv"
    tensor_cases | tail -n "+$from" >"$scratch/cases"
    grep -v -e 16384 -e sustained "$scratch/cases" |
        awk '{ print "c-" NR " " $0 " --no-verify --peer none --samples 1 --min-time 0" }' | all_at_once bench
    while read -r case; do
        case $case in *--mode*) mode= ;; *) mode='--mode burst --samples 15' ;; esac
        set -f # the patterns are the command's
        # shellcheck disable=SC2086
        bench --csv "$out/tensor.csv" --append --peer cublas $mode $case </dev/null || bad=1
        set +f
    done <"$scratch/cases"
    return $bad
}
# The same for products that large tiles do not suit: small squares, few rows or columns, rows that are not aligned, batches.
small_cases() {
    cat <<'CASES'
auto --type bf16 --sizes 64,128,256,384,512,768
auto --type bf16 --sizes 33,63,127,255,501,1001 --no-verify
auto --type bf16 --sizes 200,504,600 --no-verify
auto --type bf16 --shape 16x4096x4096,64x4096x4096,128x4096x4096,256x4096x4096,64x11008x4096,64x4096x11008 --no-verify
auto --type bf16 --shape 4096x16x4096,33x4097x4097,64x256x2048,128x128x4096,256x256x4096,512x512x4096 --no-verify
auto --type bf16 --layout nt --shape 16x4096x4096,4096x16x4096 --no-verify
auto --type bf16 --shape 16x16x16x1000,32x32x32x1000,64x64x64x1000 --no-verify
auto --type i8 --layout nt --sizes 64,256,512 --shape 16x4096x4096 --no-verify
auto --type f32 --compute tf32 --sizes 33,64,256 --shape 16x4096x4096 --no-verify
auto --type bf16 --sizes 2001,4095,4097 --no-verify
auto --type bf16 --shapes deep-k --no-verify
auto --type bf16 --shape 128x1024x16384,304x1000x11008,1000x1000x16384,256x1024x65536,384x512x65536,512x200x4096 --no-verify
auto --type bf16 --shapes skinny --no-verify
auto --type i8 --layout nt --shapes deep-k --no-verify
CASES
}
run_small() {
    if ! is_hopper; then
        echo "skipped      small: it is for sm_90"
        return
    fi
    bad=0
    rm -f "$out/small.csv"
    small_cases >"$scratch/cases"
    awk '{ print "c-" NR " " $0 " --no-verify --peer none --samples 1 --min-time 0" }' "$scratch/cases" | all_at_once bench
    while read -r case; do
        # shellcheck disable=SC2086
        bench --csv "$out/small.csv" --append --peer cublas --mode burst --samples 15 $case </dev/null || bad=1
    done <"$scratch/cases"
    return $bad
}
# f32 with the accuracy of f32, both sides on the same data in turns; the pass that splits A and B is in the time, but for the rows with
# --prepared. Most of the two minutes that this takes are the host's, for data.
run_accurate() {
    if ! is_hopper; then
        echo "skipped      accurate: it is for sm_90"
        return
    fi
    bad=0
    rm -f "$out/fp32-accurate.csv"
    for size in 1023 1024 2047 2048 8191 8192; do # the planner's tiles, and C in rows that are aligned and not
        echo "c-$size auto --sizes $size --no-verify --peer none --samples 1"
    done >"$scratch/first"
    echo "c-bf16x6 split_02_bf16x6 --sizes 512 --no-verify --peer none --samples 1" >>"$scratch/first"
    echo "c-strict auto --sizes 512 --compute f32-strict --no-verify --peer none --samples 1" >>"$scratch/first"
    echo "c-f64 auto --sizes 512 --type f64 --no-verify --peer none --samples 1" >>"$scratch/first"
    all_at_once bench <"$scratch/first"
    climb() { bench --csv "$out/fp32-accurate.csv" --append --peer cublas --mode burst --samples 15 "$@" || bad=1; }
    climb auto --sizes 1024,2048
    climb auto --sizes 4096,8192,8191,16384 --shape 4097x4099x4101 --no-verify
    for layout in nt tn tt; do climb auto --sizes 1024,2048,4096,8192,8191,16384 --shape 4097x4099x4101 --layout $layout --no-verify; done
    climb auto --sizes 1024,2048,4096,8192 --prepared --no-verify
    climb split_02_bf16x6 --sizes 4096,8192 --no-verify
    accuracy() { "$tessera" verify --accuracy --device "$device" --seed "$seed" "$@" || bad=1; }
    accuracy auto --csv "$scratch/most.csv" \
        --shape 1024x1024x1,1024x1024x16,1024x1024x64,1024x1024x256,1024x1024x1024,1024x1024x4096,1024x1024x16384
    accuracy auto --seeds 1 --shape 1024x1024x65536 --csv "$scratch/longest.csv"
    accuracy split_01_fp16x3 split_02_bf16x6 --seeds 2 --shape 1024x1024x1024 --csv "$scratch/named.csv"
    { cat "$scratch/most.csv"; grep ',65536,' "$scratch/longest.csv"; grep '^split' "$scratch/named.csv"; } >"$out/accuracy.csv"
    return $bad
}
# The same shapes twice, by the planner and by multiply-adds alone, beside cuBLAS.
run_accurate_shapes() {
    if ! is_hopper; then
        echo "skipped      accurate_shapes: it is for sm_90"
        return
    fi
    bad=0
    rm -f "$out/accurate-shapes.csv"
    for file in square llm skinny deep-k odd batched; do
        for mode in f32 f32-strict; do
            bench auto --shapes $file --compute $mode --peer cublas --mode burst --samples 7 --no-verify \
                --csv "$out/accurate-shapes.csv" --append || bad=1
        done
    done
    return $bad
}
run_tile() { bench --kernels 'simt_0[1-6]*,simt_08*' --tile 16,32 --sizes 4096 --peer cublas --csv "$out/tile.csv"; }
# begin FILE: what measured calls put their rows into. measured OPTION...: the next measurement of the step. Rows are in the file
# as soon as it is done, so that a step that was cut off can go on with the next.
begin() {
    file=$1 turn=0 bad=0
    [ "$from" -gt 1 ] || rm -f "$file"
}
measured() {
    turn=$((turn + 1))
    [ "$turn" -lt "$from" ] || bench --csv "$file" --append "$@" || bad=1
}
# What others measured on their cards, on this one: three minutes. Checking the largest products would take the host longer than all the
# rest; the same kernels are checked on smaller ones.
run_documents() {
    begin "$out/documents.csv"
    measured --kernels 'simt_0[2-6]*' --tile 16,32 --sizes 512,1024,2048,4096 --peer cublas
    measured simt_06_prefetched --params TILE=32,PAD=1 --sizes 512,1024,2048,4096 --peer cublas
    for tile in 16 32; do
        measured simt_07_tile1d --params BM=$tile,BN=$tile,BK=$tile,TM=4 --sizes 512,1024,2048 --peer cublas
    done
    measured simt_10_vectorized --params PAD=5 --sizes 4096 --peer cublas
    measured simt_08_strided4x4 --sizes 1024 --peer cublas
    measured --kernels simt_02_coalesced,simt_05_shared --tile 16,32 --sizes 8192 --samples 3 --peer cublas
    measured --kernels 'simt_0[7-9]*,simt_1*' --sizes 8192 --peer cublas
    measured --kernels simt_02_coalesced,simt_08_strided4x4 --sizes 16384 --samples 3 --no-verify --peer cublas
    measured simt_05_shared --tile 16,32 --sizes 16384 --samples 3 --no-verify --peer cublas
    measured simt_01_uncoalesced --sizes 8192 --samples 2 --no-verify --peer none
    measured 0 --sizes 8192 --compute bf16 --no-verify --peer cublas
    measured mma_01_wmma --sizes 8192 --type f16:f32 --no-verify --peer cublas
    measured --kernels 'simt_0[12]*' --sizes 8192 --type i32 --samples 2 --no-verify --peer none
    measured --kernels 'simt_0[12]*' --sizes 8192 --type f32,i32 --samples 1 --no-verify --transfers --peer none
    return $bad
}
run_transfers() { bench auto --sizes 1024,4096,8192 --transfers --peer none --csv "$out/transfers.csv"; }
# Where clocks are held back depends on how the card is driven, so the ways of timing are never mixed in one figure. A product is
# checked in the first of them.
run_modes() {
    begin "$out/modes.csv"
    measured 0 --sizes 4096,8192 --type f32,bf16 --peer cublas --mode burst
    measured 0 --sizes 4096,8192 --type f32,bf16 --peer cublas --mode continuous --no-verify
    measured 0 --sizes 4096,8192 --type f32,bf16 --peer cublas --mode sustained --no-verify
    measured auto --sizes 512,1024,2048,4096 --peer none --cold
    measured auto --sizes 512,1024,2048,4096 --peer none --no-verify
    return $bad
}
run_repeats() {
    bench_again "$out/repeats.csv" 21 --device "$device" --kernels simt_05_shared,simt_09_tile2d,simt_12_pipelined --sizes 512,2048
}
run_torch() {
    if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
        echo "skipped      torch: there is no PyTorch that sees the card"
        return
    fi
    before=$failed
    step torch python3 scripts/torch-timing.py "$tessera" "$device" "$out/torch.csv"
    # What it found is worth seeing even if nothing failed; else step has shown it.
    [ "$failed" != "$before" ] || sed 's/^/    /' "$scratch/said"
}
run_numpy() {
    if ! python3 -c 'import numpy' 2>/dev/null; then
        echo "skipped      numpy: there is none here"
        return
    fi
    step numpy env TESSERA_DEVICE="$device" python3 scripts/numpy-timing.py "$build/libtessera-blas.so" "$out/numpy.csv" 1024,2048,4096
}
run_hierarchy() { "$tessera" devices --hierarchy --csv "$out/hierarchy.csv"; }
run_environment() {
    "$tessera" devices --measure --json "$scratch/environment.json" || return
    sed '/"host_name":/d' "$scratch/environment.json" >"$out/environment.json"
}

# ---- What it does to memory ----

profiler=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | tail -n 1)

# Nsight's names for what the simulator counts differ between its versions: whatever it has of these is asked for.
wanted_metrics='^l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_(ld|st|ldgsts)(_cache_access|_cache_bypass)?$
^l1tex__data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared(_op_ld|_op_st|_op_ldgsts)?$
^smsp__(sass_)?inst_executed_op_(shared|ldgsts|ldsm)(_ld|_st|_cache_access|_cache_bypass)?$
^sms?p?__inst_executed_pipe_tensor(_op_[a-z]*)?$
^smsp__sass_l1tex_data_(pipe_lsu_wavefronts|bank_conflicts_pipe_lsu)_mem_shared
^smsp__sass_thread_inst_executed_op_(ffma|fmul|fadd)_pred_on$
^(smsp__inst_executed|lts__t_sectors_op_read|lts__t_sectors_op_write|dram__sectors_read|dram__sectors_write)$'
# What is asked for if it does not list its metrics.
least_metrics=l1tex__t_requests_pipe_lsu_mem_global_op_ld,l1tex__t_sectors_pipe_lsu_mem_global_op_ld
least_metrics=$least_metrics,l1tex__t_requests_pipe_lsu_mem_global_op_st,l1tex__t_sectors_pipe_lsu_mem_global_op_st
least_metrics=$least_metrics,smsp__inst_executed_op_shared_ld,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld
least_metrics=$least_metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld

metrics() {
    "$profiler" --query-metrics 2>"$scratch/query" | awk '{ print $1 }' | grep -E "$wanted_metrics" | sort -u >"$scratch/metrics"
    [ -s "$scratch/metrics" ] || printf '%s\n' "$least_metrics" | tr ',' '\n' >"$scratch/metrics"
    sed 's/$/.sum/' "$scratch/metrics" | paste -s -d , -
}

# capture FAMILY TIMES NAME: so many launches of every kernel of the family at every shape, watched. Every sum that ncu
# gave is kept, so that it need not be asked again.
capture() {
    if [ -z "$profiler" ]; then
        echo "ncu is not here; it comes with the CUDA toolkit (Nsight Compute)"
        return 1
    fi
    "$profiler" --csv --page raw --print-units base --clock-control none --kernel-name "regex:^$1_" \
        --metrics "$(metrics)" --log-file "$scratch/ncu.csv" "$build/tests/tools/counters" run "$device" "$2" "$1" >"$scratch/run.csv"
    status=$?
    if ! "$build/tests/tools/counters" clean "$scratch/ncu.csv" >"$out/$3-ncu.csv"; then
        echo "ncu ended with status $status and said:"
        head -n 20 "$scratch/ncu.csv" "$scratch/query"
        return 1
    fi
    "$build/tests/tools/counters" join "$scratch/run.csv" "$scratch/ncu.csv" >"$scratch/$3.csv" || return
    mv "$scratch/$3.csv" "$out/$3.csv"
    "$build/tests/tools/counters" check "$out/$3.csv" "$1"
}

# Three launches: the hardware's counters of wavefronts are not always alike. What is compared is exact in each, but for the
# conflicts of copies of 16 bytes, so one of the mma kernels is enough; they are compiled first, by all cores.
run_counters() { capture simt 3 counters; }
run_counters_mma() {
    for kernel in $(kernels_like mma); do
        case $kernel in *f64) ways='f64-nn' ;; *) ways='bf16-nn i8-nt' ;; esac
        for way in $ways; do
            echo "n-$kernel-${way%-*} $kernel --type ${way%-*} --layout ${way#*-} --shape 512x384x640,517x263x131 --no-verify --peer none --samples 1"
        done
    done | all_at_once bench
    capture mma 1 counters-mma
}

for word; do
    case $word in
    build) ;;
    torch | numpy | sanitize) "run_$word" ;;
    *) step "$word" "run_$word" ;;
    esac
done
write_checks

[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
