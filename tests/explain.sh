#!/bin/sh
# tests/explain.sh [BUILD]: `tessera explain`: every section is there, expectations are checked and can fail, occupancy and
# intensities are the published ones, and the model keeps within its bounds of what was measured.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
tessera=$build/tessera

# has WHAT TEXT: the last output has the text.
has() {
    if grep -q -F -e "$2" "$work/out"; then pass
    else
        fail "$1: '$2' is not there"
        head -n 5 "$work/out" "$work/said"
    fi
}

# explain STATUS WHAT ARGUMENT...: runs it, and checks its exit status.
explain() {
    status=$1
    what=$2
    shift 2
    "$tessera" explain "$@" >"$work/out" 2>"$work/said"
    got=$?
    if [ $got -eq "$status" ]; then pass
    else
        fail "$what: exit status $got, expected $status: tessera explain $*"
        head -n 3 "$work/said"
    fi
}

# refuse WHAT TEXT ARGUMENT...: exits with 1 or 2 and says the text.
refuse() {
    what=$1
    text=$2
    shift 2
    if "$tessera" explain "$@" >"$work/out" 2>"$work/said"; then fail "$what: not refused"
    elif grep -q -F -e "$text" "$work/said"; then pass
    else
        fail "$what: '$text' was not said"
        head -n 3 "$work/said"
    fi
}

# number SECTION NAME FILE: the value of a row of the CSV.
number() { awk -F, -v section="$1" -v name="$2" '$1 == section && $2 == name { print $3; exit }' "$3"; }

# ---- What it refuses ----

refuse "an unknown GPU" "did you mean 'H200'? Known: Tesla P100, Quadro P4000, GTX 1650" 9 --gpu H2000
refuse "a GPU far from all" "RTX 3070 Laptop, A100, H100, H200, RTX 4090" 9 --gpu voodoo
refuse "an unknown kernel" "did you mean simt_09_tile2d?" simt_09_tile2
refuse "a kernel with another's number" "did you mean simt_09_tile2d?" simt_08_tile2d
refuse "letters that are swapped" "did you mean simt_05_shared?" smit_05_shared
refuse "a word of two names" "did you mean simt_05_shared, mma_02_shared?" shared
refuse "the beginning of many names" "did you mean one of 'simt*'?" SIMT
refuse "a part of many names" "did you mean one of '*mma*'?" mma
refuse "nothing but a family" "did you mean one of 'wgmma_*'?" wgmma_99_foo
refuse "a word near none" "no kernel matches 'foo' of the gpu; 'tessera list' shows them" foo
refuse "a kernel of the CPU" "cpu_03_packed is a kernel of the CPU, and only a GPU's can be counted" cpu_03_packed
refuse "a comparison with a kernel of the CPU" "'tessera list --long cpu_03_packed' says what it does" 9 --size 64 --against cpu_03_packed
refuse "two shapes" "one product is explained" 9 --size 8 --shape 8x8x8
refuse "two sizes" "one product" 9 --size 64,128
refuse "a type that is none" "--type is 'f31'" 9 --type f31
refuse "parameters of no kernel" "--params is for one kernel" --params TILE=16
refuse "a kernel and a file" "--measured predicts every row" 9 --measured bench/published/documents.csv
refuse "a file that is not there" "could not read" --measured "$work/none.csv"
printf 'kernel,type,m,n,k\nx,f32,1,1,1\n' >"$work/short.csv"
refuse "a file without rates" "has no column 'gflops'" --measured "$work/short.csv"

explain 0 "a small product" 1 --size 32
if grep -q 'traced' "$work/said"; then
    skip "explain: no traced modules here (gcc makes them)"
    finish explain
    exit
fi
refuse "an unknown parameter" "has no parameter 'BQ'" 9 --size 128 --params BQ=3

# ---- One rung ----

count_cpu
start=$cpu
explain 0 "rung 9" simt_09_tile2d --size 4096
count_cpu
seconds=$((cpu - start))
if [ $seconds -lt 5 ]; then pass; else fail "explain simt_09_tile2d --size 4096 took $seconds s of processor time; it must take under 5"; fi
for section in story counters 'counters as compiled' expect 'costliest lines' occupancy roofline model; do
    if grep -q "^$section" "$work/out"; then pass; else fail "explain has no section '$section'"; fi
done
for text in 'before    simt_07_tile1d' 'Bs[k][thread_col + j]' 'limited by registers' 'bound by  shared memory' 'predicted GFLOPS'; do
    has "rung 9" "$text"
done
explain 0 "rung 9 against rung 5" 9 --size 256 --against 5 --csv "$work/five.csv"
if [ "$(awk -F, '$2 == "blocks" { print $4 }' "$work/five.csv")" = 64 ]; then pass; else fail "--against 5 does not compare with rung 5"; fi

# Every rung expects something of itself, and it is so.
for rung in 1 2 3 4 5 6 7 8 9 10 11 12; do
    for arguments in '--size 256' '--shape 256x128x384 --type f64'; do
        # shellcheck disable=SC2086
        explain 0 "rung $rung" $rung $arguments
        if grep -q ': holds' "$work/out"; then pass; else fail "rung $rung $arguments: nothing is expected of it"; fi
    done
done

explain 0 "a ragged shape, which expectations are not about" 5 --shape 130x70x33
has "a ragged shape" "it is about multiples of 128"

explain 0 "a type that the rung before does not take" 9 --size 128 --type f16
has "a type that the rung before does not take" "not checked: the rung before does not take this type"
explain 0 "a kernel that does not take f32, without --type" mma_08_f64 --size 128
has "a kernel that does not take f32, without --type" "product   f64, 128x128x128"
refuse "a type that it does not take" "mma_08_f64 takes f64, not f32" mma_08_f64 --size 128 --type f32
explain 0 "a kernel beside the ladder" 401 --shape 1x256x128

# What cannot be simulated is told without counters.
explain 0 "a kernel for Hopper alone" wgmma_01_tma --type bf16
for text in 'run it on an sm_90 card' 'columns of C of a block' 'change    '; do has "a kernel for Hopper alone" "$text"; done
refuse "parameters that it does not take" "BN == 64" wgmma_01_tma --params BN=100
refuse "a comparison with it" "which the simulator does not have" 9 --size 128 --against wgmma_01_tma

TESSERA_LIBRARY_PATH=$work "$tessera" explain 9 --size 128 >"$work/out" 2>"$work/said" || fail "explain without NVRTC"
has "explain without NVRTC" "guessed from the results of a thread"

# An expectation that does not hold, and one that means nothing, are failures.
mkdir "$work/kernels"
cp kernels/*.cu kernels/port.h "$work/kernels/"
sed -i 's/barriers = 2 \* ceil/barriers = 3 * ceil/' "$work/kernels/simt_05_shared.cu"
sed -i 's/expect:  global_load_requests = .*/expect:  global_load_wishes = 1/' "$work/kernels/simt_02_coalesced.cu"
TESSERA_KERNEL_DIR=$work/kernels
export TESSERA_KERNEL_DIR
explain 1 "a wrong expectation" 5 --size 128
has "a wrong expectation" "DOES NOT HOLD"
refuse "an expectation of a counter that is none" "which cannot be evaluated" 2 --size 128
# A file that cannot be taken says so, not what came of it.
for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do printf '#ifndef P%d\n#define P%d 1\n#endif\n' $n $n; done >>"$work/kernels/wgmma_01_tma.cu"
refuse "more parameters than a kernel may have" "wgmma_01_tma.cu has more than 16 parameters" wgmma_01_tma
unset TESSERA_KERNEL_DIR

# ---- Numbers that others have published ----

explain 0 "0.48479 FLOP a distinct byte" 2 --size 8192 --gpu 'RTX 3070 Laptop' --csv "$work/two.csv"
explain 0 "7.9844 FLOP a distinct byte" 5 --size 8192 --gpu 'RTX 3070 Laptop' --csv "$work/32.csv"
explain 0 "16×16 threads" 5 --size 8192 --gpu 'RTX 3070 Laptop' --params TILE=16 --csv "$work/16.csv"
{
    printf '%.5f\n' "$(number roofline 'FLOP per distinct byte' "$work/two.csv")"
    printf '%.4f\n' "$(number roofline 'FLOP per distinct byte' "$work/32.csv")"
    printf '%.0f %%\n' "$(number occupancy 'warps on a multiprocessor' "$work/16.csv" | awk '{ print 100 * $1 / 48 }')"
    printf '%d %%\n' "$(number occupancy 'warps on a multiprocessor' "$work/32.csv" | awk '{ print int(100 * $1 / 48) }')"
} >"$work/found"
printf '0.48479\n7.9844\n100 %%\n66 %%\n' >"$work/expected"
same "intensities of rungs 2 and 5 at 8192, occupancy of 16×16 and 32×32 on sm_86" "$work/expected" "$work/found"

# ---- The ladder ----

explain 0 "the ladder" --size 1024
rungs=$(grep -c -E '^ *[0-9]+  ' "$work/out")
if [ "$rungs" -ge 12 ]; then pass; else fail "the ladder has $rungs rungs, expected 12 or more"; fi
if awk 'length($0) > 100 { exit 1 }' "$work/out"; then pass; else fail "the ladder is wider than 100 columns"; fi
for arguments in '' 9; do
    # shellcheck disable=SC2086
    explain 0 "JSON" $arguments --size 128 --json -
    if ! command -v python3 >/dev/null; then skip "JSON of explain: no python3 to read it"
    else try "JSON of explain $arguments" python3 -m json.tool "$work/out"; fi
done

# ---- The model ----

for gpu in 'Tesla P100' 'Quadro P4000' 'GTX 1650' 'RTX 3070 Laptop'; do
    explain 0 "published rates of the $gpu" --gpu "$gpu" --measured bench/published/documents.csv
    has "published rates of the $gpu" "Error of the model on the $gpu: median"
done

# bounds TYPE: rungs 1 to 12 from 2048 on, as measured on the H200: each within 25 %, the median under 15 %.
bounds() {
    awk -F, -v set="h200-$1" '$1 == set && $6 + 0 >= 2048 { print $3 "," $6 "," $9 }' bench/model/predictions.csv >"$work/errors.csv"
    awk -F, '{ e = $3 < 0 ? -$3 : $3 } e > 25 || $3 == "" { print $1 ", " $2 ": " $3 " %" }' "$work/errors.csv" >"$work/far"
    none "predictions more than 25 % from the H200 in $1" "$work/far"
    median=$(awk -F, '{ print $3 < 0 ? -$3 : $3 }' "$work/errors.csv" | sort -n | awk '{ e[NR] = $1 } END { print e[int((NR + 1) / 2)] }')
    if awk -v m="$median" 'BEGIN { exit !(m != "" && m < 15) }'; then pass; else fail "the median error in $1 is $median %; it must be under 15"; fi
    if [ "$(cut -d , -f 1 "$work/errors.csv" | sort -u | wc -l)" -ge 12 ]; then pass; else fail "fewer than 12 rungs in $1"; fi
}
if ! "$tessera" explain 9 --size 128 | grep -q 'NVRTC for sm_90'; then skip "the model beside bench/model: no NVRTC here, and registers decide"
else try "bench/model is what the model says" sh scripts/docs.sh "$build" check-model; fi
bounds f32
bounds f64

finish explain
