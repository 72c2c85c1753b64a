#!/bin/sh
# scripts/gpu.sh [STEP...]: builds, tests, verifies, measures and sanitizes on the GPU of this machine, and writes the
# results to ${OUT:-bench/results/<the card's name>}. About ten minutes on an H200; nothing is installed.
#
#   build        make, and the tests
#   test         the tests that need a card
#   verify       every kernel on awkward shapes in all its types, some from host memory, and three thousand random
#                shapes on tensor cores
#   bench        the ladders ladder-f32.csv, ladder-i32.csv, ladder-f64.csv, beside cuBLAS
#   mma          ladder-mma.csv: the ladder on tensor cores, in the types they have
#   tile         tile.csv: the tiles 16 and 32 of the kernels that have one
#   documents    documents.csv: the experiments of docs/LADDER.md, at the sizes and tiles they were published with
#   transfers    transfers.csv: products from host memory, with their copies
#   modes        modes.csv: one product in bursts, continuously and under the power limit; cold beside warm
#   repeats      repeats.csv: the same runs again and again, to see how far one differs from the next
#   torch        torch.csv: cuBLAS timed by PyTorch and by tessera; skipped where there is no PyTorch
#   hierarchy    hierarchy.csv: size, latency and bandwidth of each level of memory
#   environment  environment.json: the card, the libraries, what it can do at best
#   counters     counters.csv: what Nsight Compute counts for every simt kernel; counters-ncu.csv has all it said
#   sanitize     compute-sanitizer's memcheck, racecheck, synccheck and initcheck over every kernel
#
# No words mean all of them; `quick` means build, verify and the f32 ladder at 4096, in under two minutes; `check` means
# what `make check-gpu` does: build test verify sanitize. What verify and sanitize found is in checks.txt.
#
#   OUT=...      where the results go
#   BUILD=...    the build directory, default build
#   DEVICE=...   the device, default cuda:0
#   SEED=...     of the data and shapes, default 1
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
types=f32,f64,i32
tensor_types=f16,f16:f32,bf16,bf16:f32,i8,f32
unset TESSERA_DEVICE TESSERA_PEER TESSERA_KERNEL_DIR

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
. scripts/lib.sh

every_step="build test verify bench mma tile documents transfers modes repeats torch hierarchy environment counters sanitize"
sizes=128:4096:x2
# Words, not one argument.
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $every_step
case $1 in
quick) set -- build verify ladder_f32; sizes=4096 ;;
check) set -- build test verify sanitize ;;
esac
for word; do
    case " $every_step ladder_f32 " in
    *" $word "*) ;;
    *) echo "gpu.sh: there is no step '$word'; steps are: $every_step; or quick, or check" >&2; exit 2 ;;
    esac
done

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

# ---- Whether it is right ----

verify() { "$tessera" verify --device "$device" --seed "$seed" "$@"; }

run_test() { TESSERA_DEVICE=$device "$build/tests/tests" gpu; }

# Every type and order of the matrices is another compilation of a kernel for tensor cores. All cores do that first; what
# they compile is kept.
compile_tensor() {
    for kernel in $("$tessera" list --csv - | sed -n 's/.*\(mma_[0-9a-z_]*\).*/\1/p' | sort -u); do
        for type in $(echo $tensor_types | tr ',' ' '); do echo "$kernel $type"; done
    done | xargs -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" -L 1 sh -c \
        '"$0" verify "$2" --device "$1" --type "$3" --count 8 --max-size 64 --quiet >/dev/null 2>&1' "$tessera" "$device" || :
}

# The table goes into checks.txt; the rows are the proof of what was tried.
run_verify() {
    bad=0
    compile_tensor
    verify --type $types --count 16 --max-size 200 --csv "$scratch/verify.csv" || bad=1
    verify simt_02_coalesced simt_05_shared simt_12_pipelined auto --type f32,i32 --count 8 --transfers \
        --csv "$scratch/staged.csv" || bad=1
    verify 'mma_*' --type $tensor_types --count 16 --max-size 200 --csv "$scratch/tensor.csv" || bad=1
    verify mma_07_raster --type $tensor_types --count 500 --max-size 700 --csv "$scratch/random.csv" || bad=1
    verify auto --type f16,bf16:f32,i8 --count 8 --transfers --csv "$scratch/staged-tensor.csv" || bad=1
    : >"$scratch/variants.csv"
    for variant in simt_04_coarsened:COARSE=2 simt_05_shared:TILE=16 simt_06_prefetched:PAD=1 simt_07_tile1d:TM=4 \
        simt_08_strided4x4:RM=8,RN=8 simt_10_vectorized:PAD=5 simt_10_vectorized:VEC=1 simt_12_pipelined:STAGES=4,BK=16 \
        mma_07_raster:BM=128,BN=128 mma_07_raster:BM=64,BN=64,WM=32,WN=32,KSTEPS=4; do
        case $variant in mma_*) variant_types=$tensor_types ;; *) variant_types=$types ;; esac
        verify "${variant%%:*}" --params "${variant#*:}" --type $variant_types --count 8 --csv "$scratch/variant.csv" || bad=1
        sed "1d; s/^/${variant#*:} /" "$scratch/variant.csv" >>"$scratch/variants.csv"
    done
    {
        echo "verify: every kernel on awkward shapes, matrices in device memory"
        cat "$scratch/verify.csv"
        echo
        echo "verify --transfers: matrices in host memory"
        cat "$scratch/staged.csv"
        sed 1d "$scratch/staged-tensor.csv"
        echo
        echo "verify: kernels for tensor cores, matrices in device memory"
        cat "$scratch/tensor.csv"
        echo
        echo "verify --count 500 --max-size 700: random shapes on tensor cores"
        cat "$scratch/random.csv"
        echo
        echo "verify --params: other parameters than the kernels' own"
        cat "$scratch/variants.csv"
        echo
    } >"$scratch/checks-1-verify"
    return $bad
}

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)

# sanitize TOOL: short products of every kernel. Shapes are whole tiles, ragged ones and a single column.
sanitize() {
    "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify --device "$device" --type $types,bf16,i8 \
        --shape 128x128x16,129x131x33,70x1x50 --alpha 2 --beta 1 --batch 1 --seed "$seed" --quiet >"$scratch/$1" 2>&1
    status=$?
    {
        echo "compute-sanitizer --tool $1: exit status $status"
        grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|Error:|Warning:' "$scratch/$1" | sort | uniq -c | head -n 20
    } >>"$scratch/checks-2-sanitize"
    [ $status -eq 0 ] || tail -n 15 "$scratch/$1"
    return $status
}

run_sanitize() {
    if [ -z "$sanitizer" ]; then
        echo "skipped      sanitize: compute-sanitizer is not here; it comes with the CUDA toolkit"
        echo "compute-sanitizer: not found, nothing was sanitized" >"$scratch/checks-2-sanitize"
        return
    fi
    for tool in memcheck racecheck synccheck initcheck; do step "$tool" sanitize $tool; done
}

write_checks() {
    cat "$scratch"/checks-* >"$scratch/found" 2>/dev/null || return 0
    {
        echo "$model, $("$tessera" --version), $(date -u +%Y-%m-%d)"
        echo
        cat "$scratch/found"
    } >"$out/checks.txt"
}

# ---- How fast it is ----

bench() { "$tessera" bench --device "$device" --seed "$seed" "$@"; }

# ladder TYPE PEER: the whole ladder, the upper rungs on a larger product, and the kernel for vectors.
ladder() {
    bad=0
    bench --kernels 'simt_*' --sizes "$sizes" --type "$1" --peer "$2" --csv "$scratch/ladder.csv" || bad=1
    set -- "$1" "$2" "$scratch/ladder.csv"
    if [ "$sizes" != 4096 ]; then
        bench --kernels 'simt_09*,simt_1*' --sizes 8192 --type "$1" --peer "$2" --csv "$scratch/large.csv" || bad=1
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

run_ladder_f32() { step 'bench f32' ladder f32 cublas; }
run_bench() {
    run_ladder_f32
    # cuBLAS has no product of 32-bit integers.
    step 'bench i32' ladder i32 none
    step 'bench f64' ladder f64 cublas
}
# The second ladder. Where f32 and i8 must lie along k they are given so (nt), and once as rows, with the copy timed.
run_mma() {
    bad=0
    rm -f "$out/ladder-mma.csv"
    climb() { bench --csv "$out/ladder-mma.csv" --append --peer cublas "$@" || bad=1; }
    climb --kernels 'mma_*' --sizes 1024,2048,4096,8192 --type bf16
    climb --kernels 'mma_*' --sizes 4096 --type f16:f32
    climb --kernels 'mma_*' --sizes 4096,8192 --type i8 --layout nt
    climb --kernels 'mma_*' --sizes 4096,8192 --type f32 --compute tf32 --layout nt
    climb --kernels mma_07_raster --sizes 4096,8192 --type bf16 --mode burst
    climb --kernels mma_07_raster --sizes 4096 --type bf16,f16:f32 --layout nt
    climb --kernels mma_07_raster --sizes 4096 --type f32 --compute tf32
    climb --kernels mma_07_raster --sizes 4096 --type i8
    climb auto --sizes 256,512,1000,3000 --shape 4097x4099x4101 --type bf16
    climb auto --sizes 4096 --type f32 --compute bf16
    return $bad
}
run_tile() { bench --kernels 'simt_0[1-6]*,simt_08*' --tile 16,32 --sizes 4096 --peer cublas --csv "$out/tile.csv"; }
# What others measured on their cards, on this one: two to three minutes. The largest products are not checked again, since checking
# them would take longer than all the rest; the same kernels are, on smaller ones.
run_documents() {
    bad=0
    rm -f "$out/documents.csv"
    experiment() { bench --csv "$out/documents.csv" --append "$@" || bad=1; }
    experiment --kernels 'simt_0[2-6]*' --tile 16,32 --sizes 512,1024,2048,4096 --peer cublas
    experiment simt_06_prefetched --params TILE=32,PAD=1 --sizes 512,1024,2048,4096 --peer cublas
    for tile in 16 32; do
        experiment simt_07_tile1d --params BM=$tile,BN=$tile,BK=$tile,TM=4 --sizes 512,1024,2048 --peer cublas
    done
    experiment simt_10_vectorized --params PAD=5 --sizes 4096 --peer cublas
    experiment simt_08_strided4x4 --sizes 1024 --peer cublas
    experiment --kernels simt_02_coalesced,simt_05_shared --tile 16,32 --sizes 8192 --samples 3 --peer cublas
    experiment --kernels 'simt_0[7-9]*,simt_1*' --sizes 8192 --peer cublas
    experiment --kernels simt_02_coalesced,simt_08_strided4x4 --sizes 16384 --samples 3 --no-verify --peer cublas
    experiment simt_05_shared --tile 16,32 --sizes 16384 --samples 3 --no-verify --peer cublas
    experiment --kernels 'simt_0[12]*' --sizes 8192 --type f32,i32 --samples 2 --no-verify --peer none
    experiment --kernels 'simt_0[12]*' --sizes 8192 --type f32,i32 --samples 2 --no-verify --transfers --peer none
    for compute in default tf32 bf16; do experiment 0 --sizes 8192 --compute $compute --peer cublas; done
    experiment 0 --sizes 8192 --type f16:f32 --peer cublas
    if "$tessera" list --csv - | grep -q mma_01_wmma; then
        experiment --kernels mma_01_wmma,mma_07_raster --sizes 8192 --type f16:f32 --peer cublas
    fi
    return $bad
}
run_transfers() { bench auto --sizes 1024,4096,8192 --transfers --peer none --csv "$out/transfers.csv"; }
# Where clocks are held back depends on how the card is driven, so the ways of timing are never mixed in one figure.
run_modes() {
    bad=0
    rm -f "$out/modes.csv"
    for mode in burst continuous sustained; do
        bench 0 --sizes 4096,8192 --type f32,bf16 --peer cublas --mode $mode --csv "$out/modes.csv" --append || bad=1
        bench auto --sizes 4096,8192 --type f32 --peer cublas --mode $mode --csv "$out/modes.csv" --append || bad=1
    done
    bench auto --sizes 512,1024,2048,4096 --peer cublas --cold --csv "$out/modes.csv" --append || bad=1
    bench auto --sizes 512,1024,2048,4096 --peer cublas --csv "$out/modes.csv" --append || bad=1
    return $bad
}
run_repeats() {
    bench_again "$out/repeats.csv" 21 --device "$device" --kernels simt_05_shared,simt_09_tile2d,simt_12_pipelined \
        --sizes 512,2048 --repeat 5
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
^smsp__(sass_)?inst_executed_op_(shared|ldgsts)(_ld|_st|_cache_access|_cache_bypass)?$
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

# Three launches of every kernel and shape, watched: the hardware's counters of wavefronts are not always alike. Every
# sum that ncu gave is kept, so that it need not be asked again.
run_counters() {
    if [ -z "$profiler" ]; then
        echo "ncu is not here; it comes with the CUDA toolkit (Nsight Compute)"
        return 1
    fi
    "$profiler" --csv --page raw --print-units base --clock-control none --kernel-name 'regex:^simt_' \
        --metrics "$(metrics)" --log-file "$scratch/ncu.csv" "$build/tests/tools/counters" run "$device" 3 >"$scratch/run.csv"
    status=$?
    if ! "$build/tests/tools/counters" clean "$scratch/ncu.csv" >"$out/counters-ncu.csv"; then
        echo "ncu ended with status $status and said:"
        head -n 20 "$scratch/ncu.csv" "$scratch/query"
        return 1
    fi
    "$build/tests/tools/counters" join "$scratch/run.csv" "$scratch/ncu.csv" >"$scratch/counters.csv" || return
    mv "$scratch/counters.csv" "$out/counters.csv"
    "$build/tests/tools/counters" check "$out/counters.csv"
}

for word; do
    case $word in
    build) ;;
    bench | ladder_f32 | torch | sanitize) "run_$word" ;;
    *) step "$word" "run_$word" ;;
    esac
done
write_checks

[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
