#!/bin/sh
# tests/cuda.sh [BUILD]: what is said when there is no GPU to be had, or not the one that is wanted. The driver is a
# stand-in (tests/standin), which is told by the environment what to be like.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
standin=$(cd "$build/tests/standin" && pwd)
unset TESSERA_DEVICE STANDIN_FAULT NVIDIA_TF32_OVERRIDE
export TESSERA_LIBRARY_PATH="$standin" TESSERA_CACHE_DIR="$work/cache" TESSERA_VERBOSE=1
quick='--sizes 16 --samples 1'

# run STATUS WORD...: the command, and how it should end; what it said is in $work/out.
run() {
    want=$1
    shift
    "$build/tessera" "$@" >"$work/out" 2>&1
    got=$?
    if [ $got -eq "$want" ]; then pass
    else
        fail "tessera $*: exit status $got, not $want"
        sed 's/^/    /' "$work/out" | head -n 20
    fi
}
says() {
    if grep -qF -e "$2" "$work/out"; then pass
    else
        fail "$1: no '$2' in"
        sed 's/^/    /' "$work/out" | head -n 20
    fi
}

export STANDIN_DEVICES=0
run 1 bench 5 --device cuda $quick --peer none
says 'no GPU' "there is no device 'cuda': the CUDA driver finds no GPU"
run 0 bench 3 $quick --peer none
says 'auto takes the cpu' 'on cpu'
says 'the plan says why' 'no GPU is used: the CUDA driver finds no GPU'
export TESSERA_NUM_THREADS=many
for words in devices ''; do
    # shellcheck disable=SC2086
    run 0 $words
    says 'a wrong number of threads is what is wrong with the cpu' "  cpu          cannot be opened: TESSERA_NUM_THREADS is 'many'"
    says 'a wrong number of threads is not why there is no GPU' "no GPU       there is no device 'cuda': the CUDA driver finds no GPU"
done
unset TESSERA_NUM_THREADS

export STANDIN_DEVICES=1 STANDIN_FAULT=cuInit:1:999
run 1 bench 5 --device cuda $quick --peer none
says 'a driver that does not start' 'the CUDA driver does not start: cuInit failed: CUDA_ERROR_OTHER (999)'
unset STANDIN_FAULT

export STANDIN_DEVICES=2
run 0 bench 5 --device cuda:1 $quick --peer none
says 'the second GPU' 'on cuda:1'
run 1 bench 5 --device cuda:2 $quick --peer none
says 'a third that is not there' "there is no device 'cuda:2'"
export STANDIN_DEVICES=1

export STANDIN_ARCHITECTURE=75
run 1 bench --kernels simt_12_pipelined --device cuda $quick --peer none
says 'a kernel that the card cannot run' 'simt_12_pipelined needs sm_80, but stand-in GPU is sm_75'
run 0 bench --kernels auto --device cuda --sizes 640 --samples 1 --peer none
says 'the planner knows the card' 'simt_11_warptile'
unset STANDIN_ARCHITECTURE

# Tensor cores: what they are given, and what has to be allowed.
tensor() {
    top=mma_07_raster
    run 1 bench $top --device cuda $quick --peer none
    says 'TF32 has to be allowed' "$top multiplies f32 as TF32, with 11 significant bits, which has to be allowed"
    says 'how to allow it' '(--compute tf32)'
    run 0 bench $top --device cuda $quick --peer none --compute tf32
    says 'TF32 is said' 'A and B are rounded to TF32 first'
    run 0 bench auto --device cuda --sizes 128 --samples 1 --peer none --compute tf32
    says 'the planner uses what is allowed' 'f32 is multiplied as TF32'
    run 0 bench auto --device cuda $quick --peer none --compute tf32
    says 'but where it is faster' 'multiply-adds take less time than tensor cores'
    run 0 bench auto --device cuda $quick --peer none
    says 'and only that' 'auto:simt_15_split'
    run 0 bench auto,simt_09_tile2d,simt_05_shared --device cuda $quick --peer none --compute bf16
    says 'rounding is said' "on cuda:0 for f32×f32→f32, 16×16×16 (A row-major, B row-major, C row-major), because it was asked for by name; A and B are rounded to bf16 first"
    says 'so is that there is none' 'less exact arithmetic was allowed, but it computes in f32'
    run 0 bench auto --device cuda $quick --peer none --type f16,bf16:f32,i8
    says 'the planner takes tensor cores' 'because wgmma with tiles that TMA brings is the fastest for this type'
    says 'i8 lies along k' 'B is copied to columns first'
    run 0 bench mma_08_f64 --device cuda $quick --peer none --type f64 --ld-pad 1
    says 'lines that are not aligned' 'rows are not 16-byte aligned: copies of 8 bytes'
    run 0 bench $top --device cuda $quick --peer none --type bf16 --ld-pad 1 --layout nt
    says 'of 16 bits are copied' 'A is copied to aligned rows first; B is copied to aligned columns first'
    run 1 bench $top --device cuda $quick --peer none --type bf16 --params AT=1
    says 'AT follows from A' "AT is 1, but the A that $top gets lies in rows; leave AT out"
    run 1 bench mma_08_f64 --device cuda $quick --peer none --type f64 --ld-pad 1 --params VEC=2
    says 'VEC follows from the rows' 'begin at multiples of 1 element; ask for VEC=1'
    run 0 bench --device cuda $quick --peer none
    if grep -q mma_ "$work/out"; then fail 'bench without words runs the second ladder'; else pass; fi
    run 0 verify $top --device cuda --count 8 --max-size 60 --csv -
    says 'f32 is verified as TF32' 'PASS,tf32'
    says 'i8 is verified' "$top,i8,"
    run 0 verify auto --device cuda --type f32 --compute bf16 --count 8 --max-size 60 --misalign 3 --csv -
    says 'with what was asked for' 'PASS,bf16'
    export STANDIN_ARCHITECTURE=75
    run 0 bench auto --device cuda $quick --peer none --type bf16
    says 'a card without bf16' 'simt_09_tile2d'
    run 1 bench $top --device cuda $quick --peer none --type f16
    says 'a card without asynchronous copies' "$top needs sm_80, but stand-in GPU is sm_75"
    unset STANDIN_ARCHITECTURE
}
tensor

# Kernels for sm_90: the planner takes them there and nowhere else, and only where the driver makes tensor maps.
hopper() {
    top=wgmma_07_fitted
    run 0 bench auto --device cuda --sizes 128 --samples 1 --peer none --type bf16
    says 'the planner takes them' 'auto:wgmma_07_fitted'
    run 0 bench auto --device cuda --sizes 131 --samples 1 --peer none --type bf16
    says 'what is not aligned is copied' 'A and B are copied to aligned rows first'
    says 'and C is written without TMA' 'STORE=0'
    says 'what hangs over has a rung of its own' "auto:$top"
    run 0 bench auto --device cuda --sizes 128 --samples 1 --peer none --compute tf32
    says 'a B in rows has a rung of its own' 'auto:wgmma_08_registers'
    run 0 bench auto --device cuda --sizes 128 --samples 1 --peer none --compute tf32 --layout tt
    says 'TMA rounds to TF32' 'A is copied to rows first; f32 is multiplied as TF32'
    run 0 verify $top --device cuda --count 8 --max-size 60 --csv -
    says 'f32 is verified as TF32' 'PASS,tf32'
    for architecture in 80 100; do
        export STANDIN_ARCHITECTURE=$architecture
        run 1 bench $top --device cuda $quick --peer none --type bf16
        says 'another card' "$top is for sm_90 alone, but stand-in GPU is sm_$architecture"
        run 0 bench auto --device cuda --sizes 128 --samples 1 --peer none --type bf16
        says 'the planner knows' 'auto:mma_07_raster'
    done
    unset STANDIN_ARCHITECTURE
    mkdir "$work/older"
    ln -s "$standin"/* "$work/older"
    rm "$work/older/libcuda.so.1"
    (
        cd tests/standin || exit
        ${CC:-cc} -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -I../../include -pthread -o "$work/older/libcuda.so.1" \
            cuda.c cuda_kernels.c cuda_streams.c compute.c ../oracle.c -lm
    ) || fail 'the older driver'
    TESSERA_LIBRARY_PATH=$work/older
    run 0 bench auto --device cuda --sizes 128 --samples 1 --peer none --type bf16
    says 'a driver without tensor maps' 'auto:mma_07_raster'
    run 1 bench $top --device cuda $quick --peer none --type bf16
    says 'what is missing' "$top needs cuTensorMapEncodeTiled, which this CUDA driver (13.0) does not have"
    TESSERA_LIBRARY_PATH=$standin
}
hopper

# Errors beside the peer's; inputs rounded to TF32 have too large ones.
run 0 verify simt_09_tile2d --accuracy --device cuda --seeds 1 --shape 16x16x64 --csv -
says 'the peer has columns' ',cublas,PASS'
run 1 verify mma_07_raster --accuracy --device cuda --seeds 1 --shape 16x16x64 --compute tf32
says 'too large an error is said' 'mma_07_raster on normal, k = 64: the largest error is '
says 'and counted' 'rows failed'
run 1 verify vector_01_shuffle --accuracy --device cuda --seeds 1 --shape 16x16x64 --peer none
says 'a kernel that takes none of it' 'nothing was measured'

# f32 by parts without wgmma: by name from sm_80 on; of itself where three products of f16 take less time than one of f32.
parts() {
    export STANDIN_ARCHITECTURE=86
    run 0 verify split_03_mma --device cuda --count 4 --max-size 60 --csv -
    says 'it runs by name' 'split_03_mma,f32,'
    for architecture in 80 100; do
        export STANDIN_ARCHITECTURE=$architecture
        run 0 bench auto --device cuda --sizes 512 --samples 1 --peer none
        if [ $architecture = 80 ]; then planned=auto:split_03_mma; else planned=auto:simt_; fi
        says "the planner on sm_$architecture" "$planned"
    done
    export STANDIN_ARCHITECTURE=80
    run 0 bench split_03_mma --device cuda --shape 70x90x300 --samples 1 --prepared --csv - --peer none
    says 'operands are prepared for it too' ',prepared,'
    export TESSERA_SPLIT=0
    run 0 bench auto --device cuda --sizes 512 --samples 1 --peer none
    says 'unless it is switched off' 'auto:simt_'
    unset TESSERA_SPLIT STANDIN_ARCHITECTURE
}
parts

# A peer that rounds twice is compared, one that is wrong is not.
export STANDIN_CUBLAS_OFF=1
run 0 bench mma_02_shared --device cuda --shape 16x16x64 --samples 1 --peer cublas --type bf16 --csv -
says 'a peer that rounds twice' 'cublas is compared although it is off by '
says 'and its time is there' ',cublas,'
STANDIN_CUBLAS_OFF=40
run 1 bench mma_02_shared --device cuda --shape 16x16x64 --samples 1 --peer cublas --type bf16
says 'a peer that is wrong' 'cublas gives a wrong product, so nothing is compared with it here'
unset STANDIN_CUBLAS_OFF

# Operands that are prepared once.
run 0 bench split_01_fp16x3 --device cuda --shape 70x90x300 --samples 1 --prepared --csv - --peer cublas
says 'rows say so' ',prepared,'
run 2 bench split_01_fp16x3 --device cuda $quick --prepared --cold --peer none
says 'and not with cold caches' '--prepared is for matrices in a GPU'

for library in libnvrtc.so.13 libcublas.so.13; do
    mkdir "$work/without-$library"
    ln -s "$standin"/* "$work/without-$library"
    rm "$work/without-$library/$library"
done
TESSERA_LIBRARY_PATH=$work/without-libnvrtc.so.13
run 1 bench 5 --device cuda $quick --peer none
says 'no compiler' "there is no device 'cuda': NVRTC (libnvrtc.so.13) was not found"
TESSERA_LIBRARY_PATH=$work/without-libcublas.so.13
run 1 bench 0 --device cuda $quick
says 'no cuBLAS' 'cuBLAS (libcublas.so.13) was not found'
TESSERA_LIBRARY_PATH=$standin

NVIDIA_TF32_OVERRIDE=0
export NVIDIA_TF32_OVERRIDE
run 0 bench --kernels cublas --device cuda $quick --peer none
says 'what changes the peer is said' 'NVIDIA_TF32_OVERRIDE is set to 0'
unset NVIDIA_TF32_OVERRIDE

mkdir "$work/old"
echo 'int cuDriverGetVersion(int *v) { *v = 13000; return 0; }' | ${CC:-cc} -shared -fPIC -x c - -o "$work/old/libcuda.so.1"
cp "$standin/libnvrtc.so.13" "$work/old"
TESSERA_LIBRARY_PATH=$work/old
run 1 bench 5 --device cuda $quick --peer none
says 'a driver without a function' 'libcuda.so.1 has no cuInit'

finish cuda
