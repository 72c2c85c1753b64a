# scripts/gpu-checks.sh: the steps of gpu.sh that tell whether kernels are right: test, verify, random and sanitize; and how
# many commands run at once. gpu.sh sources it, and has set $build, $tessera, $device, $seed, $families, $types,
# $tensor_types, $scratch, $out and $model.

cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

# Each test is a process, as many at once as there are cores: most of their time is the compiler's. One that looks at how
# much of the card's memory is free comes afterwards, alone.
run_test() {
    TESSERA_DEVICE=$device "$build/tests/tests" --list gpu >"$scratch/tests" || return 1
    : >"$scratch/bad"
    grep -v no_allocation "$scratch/tests" | at_once "$cores"
    grep no_allocation "$scratch/tests" | at_once 1
    for name in $(cat "$scratch/bad"); do tail -n 5 "$scratch/$name.said"; done
    echo "test: $(grep -c . "$scratch/tests") tests, $(grep -c . "$scratch/bad") failed" | tee "$scratch/checks-0-test"
    echo >>"$scratch/checks-0-test"
    [ ! -s "$scratch/bad" ]
}

at_once() {
    TESSERA_DEVICE=$device xargs -P "$1" -L 1 sh -c '"$0" "$2" >"$1/$2.said" 2>&1 || echo "$2" >>"$1/bad"' \
        "$build/tests/tests" "$scratch"
}

# all_at_once VERB: every line read is a name and the arguments of `tessera VERB`; as many run at once as there are cores. What each
# says goes to $scratch/NAME.said, its rows to $scratch/NAME.csv, and where $keep names a directory to that once it has passed; the
# names of those that fail to $scratch/bad.
keep=
all_at_once() {
    : >"$scratch/bad"
    xargs -P "$cores" -L 1 sh -c '
        tessera=$0 verb=$1 device=$2 scratch=$3 keep=$4 name=$5
        shift 5
        if ! "$tessera" "$verb" --device "$device" "$@" --csv "$scratch/$name.csv" >"$scratch/$name.said" 2>&1; then
            echo "$name" >>"$scratch/bad"
        elif [ "$keep" != - ]; then
            cp "$scratch/$name.csv" "$keep/$name.tmp" && mv "$keep/$name.tmp" "$keep/$name.csv"
        fi' "$tessera" "$1" "$device" "$scratch" "${keep:--}"
    for name in $(cat "$scratch/bad"); do
        echo "$name:"
        tail -n 5 "$scratch/$name.said"
    done
    [ ! -s "$scratch/bad" ]
}

kernels_like() { "$tessera" list --csv - | tr -d '"' | awk -F, -v family="$1" 'index($2, family "_") == 1 { print $2 }'; }
join_rows() { cat "$@" | awk '!/^kernel,type,/ || !headed++'; }

# Hopper's kernels run on no other card.
is_hopper() { [ "$(device_fact "$device" isa)" = sm_90a ]; }
has_family() { case " $families " in *" $1 "*) ;; *) return 1 ;; esac; }
tensor_kernels() {
    if has_family mma; then kernels_like mma; fi
    if has_family wgmma && is_hopper; then kernels_like wgmma; fi
}

# verify_job KERNEL TYPE COUNT LARGEST SEED: a line of verify_list.
verify_job() {
    compute=
    [ "$2" != f32 ] || compute='--compute tf32'
    echo "3-$1-$2-$5 $1 --type $2 $compute --count $3 --max-size $4 --seed $5"
}

# The ladders' tops in all types, mma's on three thousand random shapes; the other rungs in those that differ most.
verify_tensor() {
    for kernel in $(tensor_kernels); do
        case $kernel in
        mma_07_raster) list=$tensor_types count=100 most=700 seeds="$seed 2 3 4 5" ;;
        mma_08_f64) list=f64 count=100 most=700 seeds="$seed 2 3" ;;
        wgmma_06_turns | wgmma_07_fitted | wgmma_09_split | wgmma_10_relay) list=$tensor_types count=100 most=700 seeds=$seed ;;
        wgmma_11_halves | wgmma_12_apart) list=f16,f16:f32,bf16,bf16:f32 count=100 most=700 seeds=$seed ;;
        wgmma_08_registers) list=f32 count=100 most=700 seeds=$seed ;;
        *) list=bf16,i8,f32 count=16 most=200 seeds=$seed ;;
        esac
        for type in $(echo $list | tr ',' ' '); do
            for part in $seeds; do verify_job "$kernel" "$type" $count $most "$part"; done
        done
    done
}

# Of a product so large that blocks keep in step (kernels/pace.h) one case has to do.
one_case='--layout nn --ld-pad 0 --misalign 0 --alpha 2 --beta 1 --batch 1'

verify_list() {
    verify_tensor
    if has_family simt; then
        for type in $(echo $types | tr ',' ' '); do
            echo "1-$type simt_* vector_* --type $type --count 16 --max-size 200 --seed $seed"
        done
        echo "2-staged simt_02_coalesced simt_05_shared simt_12_pipelined simt_15_split auto --type f32,i32 --count 8 --transfers --seed $seed"
        for variant in simt_04_coarsened:COARSE=2 simt_05_shared:TILE=16 simt_06_prefetched:PAD=1 simt_07_tile1d:TM=4 \
            simt_08_strided4x4:RM=8,RN=8 simt_10_vectorized:PAD=5 simt_10_vectorized:VEC=1 simt_12_pipelined:STAGES=4,BK=16 \
            simt_15_split:BM=16,BN=32,TM=4,TN=4,SPLIT=8 simt_15_split:BM=64,BN=64,SPLIT=4 simt_16_batched:BM=4,BN=4,BK=4,TM=2,PRODUCTS=64 simt_16_batched:BM=8,BN=8,BK=8,TM=2,PRODUCTS=16 \
            simt_16_batched:BM=32,BN=32,BK=32,TM=4,PRODUCTS=1 simt_16_batched:BM=64,BN=64,BK=32,TM=8,PRODUCTS=1,KUNROLL=1; do
            echo "4-$variant ${variant%%:*} --params ${variant#*:} --type $types --count 8 --seed $seed"
        done
        # The planner's, of which large products are made, and those in two parts.
        for variant in simt_14_ahead:BM=256,BK=32 simt_14_ahead:BK=32,BLOCKS=2 simt_14_ahead:BK=32,ROWS=2,BLOCKS=2 simt_14_ahead:BK=8,STAGES=4 \
            simt_15_split:BM=64,SPLIT=4 simt_15_split:BM=64,SPLIT=4,BK=16,STAGES=3 simt_15_split:BM=128,BN=64,SPLIT=4,BK=16,STAGES=3 simt_15_split:BM=48,BN=96,TM=12,TN=4,SPLIT=4,BK=16,ROWS=3,STAGES=3; do
            echo "4-$variant ${variant%%:*} --params ${variant#*:} --type f32 --count 8 --max-size 400 --seed $seed"
        done
        echo "4-shares auto --type f32,f64,bf16,f16:f32,i8 --count 1 --alpha 2 --beta 1 --batch 1 --shape 40x24x20003,33x31x16387,128x256x8192,300x300x3000 --seed $seed"
        echo "4-shares-parts auto --type f32 --count 1 --alpha 2 --beta 1 --batch 1 --shape 512x512x16384 --seed $seed"
        echo "4-shares-strict auto --type f32 --compute f32-strict --count 1 --alpha 2 --beta 1 --batch 1 --shape 40x24x20003,512x512x8192,300x300x3000 --seed $seed"
        for compute in f32 f32-strict; do
            echo "4-medium-$compute auto --type f32 --compute $compute --count 1 --alpha 2 --beta 1 --batch 1 --shape 257x263x251,401x403x405,513x514x515,769x771x773,1025x513x257,129x2049x257 --seed $seed"
        done
        echo "5-rest auto --type f32 --compute f32-strict --alpha 2 --beta 1 --batch 1 --shape 4226x256x100,128x8452x100,4225x255x101 --seed $seed"
    fi
    if has_family mma; then
        echo "2-staged-tensor auto --type f16,bf16:f32,i8 --count 8 --transfers --seed $seed"
        for variant in mma_07_raster:VEC=1 mma_07_raster:BM=128,BN=128 mma_07_raster:BM=64,BN=64,WM=32,WN=32,KSTEPS=4; do
            echo "4-$variant ${variant%%:*} --params ${variant#*:} --type bf16,i8 --count 8 --seed $seed"
        done
        echo "2-staged-f64 auto --type f64 --count 8 --transfers --seed $seed"
        for params in STAGES=6 KSTEP=8 BM=96,WM=48,WN=32 BN=64,WM=32,WN=32 BM=64,BN=64,WM=32,WN=32,SPLIT=2 BM=64,BN=32,WM=32,WN=32,SPLIT=4 BM=16,BN=16,WM=16,WN=16,SPLIT=8; do
            echo "4-mma_08_f64:$params mma_08_f64 --params $params --type f64 --count 24 --max-size 400 --seed $seed"
        done
    fi
    if has_family split && is_hopper; then
        for part in "$seed" 2 3 4; do echo "3-split-$part split_* --type f32 --count 24 --max-size 700 --seed $part"; done
        for params in SHORT=1 BN=200 BN=200,CM=1 BN=200,CM=4; do
            echo "4-split_01_fp16x3:$params split_01_fp16x3 --params $params --type f32 --count 24 --max-size 700 --seed $seed"
        done
        echo "4-split-long split_01_fp16x3 --type f32 --alpha 2 --beta 1 --batch 1 --shape 100x300x5000,70x90x16400 --seed $seed"
        for params in SHARE=1 SHARE=1,SHORT=1 BN=128,STAGES=6,CM=1,SHARE=1 BN=64,STAGES=8,CM=1,SHARE=1; do
            echo "4-split-cut-$params split_01_fp16x3 --params $params --type f32 $one_case --shape 2310x1530x4160,1100x1500x4101,4097x1099x2100 --seed $seed"
        done
        echo "4-split-paced split_01_fp16x3 --params BN=64,STAGES=8,CM=2 --type f32 $one_case --shape 4352x4352x4096 --seed $seed"
    fi
    if has_family wgmma && is_hopper; then
        for params in BM=64,BN=128,STAGES=8,TURN=0 BM=64,BN=192,STAGES=6,TURN=0 BM=128,BN=128,STAGES=6,TURN=0,CM=2 BM=192,BN=192,TURN=1,BOXES=1 BM=192,BN=192,TURN=2,BOXES=1,CM=2 CM=2 BN=144,TURN=0 BN=160,TURN=0 BN=208 BN=224; do
            echo "4-wgmma_07_fitted:$params wgmma_07_fitted --params $params --type bf16,i8 --count 24 --max-size 600 --seed $seed"
        done
        for params in BM=144,BN=128,STAGES=5 BM=160,BN=128,STAGES=5,CN=2 BM=208,BN=128 BM=216,BN=128,CN=2 BM=224,BN=128 BM=240,BN=128,CN=2 BM=144,BN=192,TURN=1 BM=176,BN=192,CM=2,TURN=1 BM=208,BN=192 BM=208,BN=192,CN=2,TURN=1 BM=136,BN=256,CM=2,TURN=1 BM=152,BN=256,CN=2 BM=160,BN=256,TURN=1 CM=2 BM=144,BN=128,STAGES=5,CM=2,TURN=1; do
            echo "4-wgmma_11_halves:$params wgmma_11_halves --params $params --type bf16,bf16:f32 --count 24 --max-size 600 --seed $seed"
        done
        echo "4-wgmma_12-rim wgmma_12_apart --type bf16,f16:f32 --ld-pad 0 --alpha 2 --beta 1 --batch 1 --shape 1025x257x99,1032x264x1001,1024x258x333,2049x1000x64,3000x513x203,1030x8x7,2061x3602x333,3090x3075x70,4097x4096x100,4097x4103x331 --seed $seed"
        for params in BM=64,BN=128,CM=2,STAGES=6,TURN=0,EVERY=2 BM=128,BN=64,STAGES=8,TURN=0,EVERY=2 BM=192,BN=192,CM=2,TURN=1,BOXES=1,EVERY=2; do
            echo "4-wgmma_07-laced:$params wgmma_07_fitted --params $params --type bf16,bf16:f32,i8 --ld-pad 0 --misalign 0 --shape 1000x264x504,264x1304x72,24x520x1000,336x80x1008 --seed $seed"
            echo "4-wgmma_07-laced-from:$params wgmma_07_fitted --params $params --type bf16,f32 --compute tf32 --ld-pad 0 --misalign 8 --layout nt --shape 1000x264x504,264x1304x76,24x520x1004 --seed $seed"
        done
        # Of k in the second round of tiles most is walked back.
        for variant in wgmma_07_fitted:BM=64,BN=64,STAGES=8,TURN=0 wgmma_07_fitted:BM=192,BN=192,TURN=1,BOXES=1 wgmma_07_fitted:CM=2 wgmma_07_fitted:STAGES=4 \
            wgmma_11_halves:BM=208,BN=192,CN=2 wgmma_11_halves:BM=152,BN=256,CM=2,TURN=1; do
            echo "4-rounds-$variant ${variant%%:*} --params ${variant#*:} --type bf16,f16:f32 $one_case --shape 2900x2810x330,2899x2811x1000 --seed $seed"
        done
        echo "4-wgmma_10-small wgmma_10_relay --params BM=64,BN=64 --type bf16,i8 --count 24 --max-size 1000 --seed $seed"
        echo "4-wgmma_10-rounds wgmma_10_relay --params BM=64,BN=64 --type bf16,bf16:f32,i8,f32 --alpha 2 --beta 1 --batch 1 --shape 1100x1500x700,2100x2100x65,1600x1601x33 --seed $seed"
        echo "4-tiny auto --type bf16,f16:f32 --count 8 --shape 16x16x16,17x17x17,33x31x35,63x63x63,127x127x127 --seed $seed"
        for params in CK=1 CK=2,BN=128 CK=2,BM=128 CK=2,BM=128,BN=128,STAGES=5 CK=2,BM=128,BN=192,STAGES=4 CK=8,BOXES=2; do
            echo "4-wgmma_09_split:$params wgmma_09_split --params $params --type bf16,i8 --count 24 --max-size 600 --seed $seed"
        done
        for params in CN=2 TURN=0 BM=192,BN=192,TURN=0,BOXES=1 BM=192,TURN=0,CN=2 BM=128,STAGES=6,TURN=0,CN=2 BM=64,STAGES=8,TURN=0 BM=64,BN=64,STAGES=8,TURN=0; do
            echo "4-wgmma_08_registers:$params wgmma_08_registers --params $params --type f32 --count 24 --max-size 600 --seed $seed"
        done
        echo "4-wgmma_07-paced wgmma_07_fitted --params BM=128,BN=64,STAGES=8,TURN=0,CM=2,PACE=8 --type bf16 $one_case --shape 4352x4352x8192 --seed $seed"
        echo "4-wgmma_08-paced wgmma_08_registers --params BM=64,STAGES=8,TURN=0,CN=2,PACE=4 --type f32 --compute tf32 $one_case --shape 4352x4352x4096 --seed $seed"
    fi
}

# The rows go into checks.txt: they are the proof of what was tried.
run_verify() {
    bad=0
    verify_list | all_at_once verify || bad=1
    {
        echo "verify: every kernel on awkward shapes; 2: matrices in host memory; 3: tensor cores; 4: other parameters"
        join_rows "$scratch"/[1-4]-*.csv
        echo
    } >"$scratch/checks-1-verify"
    return $bad
}

# Shares of the shapes, each with a seed of its own. Neighbours in the list differ in type, so that those who run at once
# compile different kernels.
random_list() {
    share=$((${COUNT:-10000} / 96 + 1))
    for part in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        for type in $(echo $tensor_types | tr ',' ' '); do
            compute=
            [ "$type" != f32 ] || compute='--compute tf32'
            echo "5-$type-$part auto --type $type $compute --shape 97x89x83 --count $share --max-size ${LARGEST:-2100} --seed $((seed * 1000 + part))"
        done
    done
}
# Minutes of work: shares that have passed are kept until all have, and a run that was cut off is gone on with by the same program.
run_random() {
    bad=0
    keep="$out/random-$("$tessera" --version | slug)-${COUNT:-10000}-${LARGEST:-2100}-$seed"
    mkdir -p "$keep" || return 1
    random_list | while read -r name case; do
        [ -s "$keep/$name.csv" ] || echo "$name $case"
    done >"$scratch/left"
    echo "$(grep -c . "$scratch/left") of $(random_list | grep -c .) shares are left"
    all_at_once verify <"$scratch/left" || bad=1
    if [ $bad = 0 ]; then
        {
            echo "random: shapes of up to ${LARGEST:-2100} a side, what the planner takes"
            join_rows "$keep"/5-*.csv
            echo
        } >"$scratch/checks-3-random"
        rm -rf "$keep"
    fi
    keep=
    return $bad
}

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)

# sanitize TOOL: short products of every kernel. Shapes are whole tiles, ragged ones and a single column. Then a k that is
# shared, with a remainder; multiply-adds in many steps, by tiles that the planner takes; and tiles that are cut along k.
sanitize() (
    set -f # the patterns are the command's
    # shellcheck disable=SC2046,SC2086
    "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify $(printf '%s_* ' $families) --device "$device" \
        --type $types,bf16,i8 --shape 128x128x16,129x131x33,70x1x50 --alpha 2 --beta 1 --batch 1 --seed "$seed" --quiet \
        >"$scratch/$1" 2>&1
    status=$?
    "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify auto --device "$device" --type f32,f64 \
        --shape 33x31x4099 --count 1 --alpha 2 --beta 1 --batch 1 --seed "$seed" --quiet >>"$scratch/$1" 2>&1 || status=$?
    if has_family simt; then
        for params in BK=32,BLOCKS=2 BK=32,ROWS=2,BLOCKS=2; do
            "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify simt_14_ahead --params $params --device "$device" --type f32 \
                --shape 300x260x203 --count 1 --alpha 2 --beta 1 --batch 1 --seed "$seed" --quiet >>"$scratch/$1" 2>&1 || status=$?
        done
    fi
    if has_family wgmma && is_hopper; then
        # shellcheck disable=SC2086
        "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify wgmma_11_halves --params BM=144,BN=192,CM=2,TURN=1 --device "$device" \
            --type bf16,bf16:f32 $one_case --shape 300x264x136,145x131x33 --seed "$seed" --quiet >>"$scratch/$1" 2>&1 || status=$?
        # shellcheck disable=SC2086
        "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify wgmma_07_fitted --params BM=64,BN=128,CM=2,STAGES=6,TURN=0,EVERY=2 \
            --device "$device" --type bf16 $one_case --shape 264x136x200 --seed "$seed" --quiet >>"$scratch/$1" 2>&1 || status=$?
        # shellcheck disable=SC2086
        "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify wgmma_12_apart --device "$device" --type bf16,bf16:f32 $one_case \
            --shape 1027x261x99,300x264x137,3090x3075x165 --seed "$seed" --quiet >>"$scratch/$1" 2>&1 || status=$?
    fi
    if has_family split && is_hopper; then
        # shellcheck disable=SC2086
        "$sanitizer" --tool "$1" --error-exitcode 9 "$tessera" verify split_01_fp16x3 --params SHARE=1 --device "$device" \
            --type f32 $one_case --shape 2310x1530x4160 --seed "$seed" --quiet >>"$scratch/$1" 2>&1 || status=$?
    fi
    {
        echo "compute-sanitizer --tool $1, $families: exit status $status"
        grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|Error:|Warning:' "$scratch/$1" | sort | uniq -c | head -n 20
    } >"$scratch/checks-2-$1"
    echo $status >"$scratch/$1.status"
)

# One after the other they would take minutes, and mostly of the host's time.
run_sanitize() {
    if [ -z "$sanitizer" ]; then
        echo "skipped      sanitize: compute-sanitizer is not here; it comes with the CUDA toolkit"
        echo "compute-sanitizer: not found, nothing was sanitized" >"$scratch/checks-2-sanitize"
        return
    fi
    for tool in memcheck racecheck synccheck initcheck; do sanitize $tool & done
    wait
    for tool in memcheck racecheck synccheck initcheck; do
        step "$tool" sh -c '[ "$(cat "$1.status")" = 0 ] || { tail -n 15 "$1"; exit 1; }' - "$scratch/$tool"
    done
}

write_checks() {
    cat "$scratch"/checks-* >"$scratch/found" 2>/dev/null || return 0
    {
        echo "$model, $("$tessera" --version), $(date -u +%Y-%m-%d)"
        echo
        cat "$scratch/found"
    } >"$out/checks.txt"
}
