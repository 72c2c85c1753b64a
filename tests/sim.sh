#!/bin/sh
# tests/sim.sh [BUILD]: the simulator through the command: each pitfall in examples/pitfalls/ is named, kernels that are wrong
# only on NaN, infinities or sums that overflow are found out, the ladder's results are those of the card whose hashes are
# kept, and the speed stays within its bounds.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
tessera=$build/tessera
TESSERA_CACHE_DIR=$work/cache
export TESSERA_CACHE_DIR

# ---- Pitfalls ----

# pitfall FILE STATUS TEXT [OPTION...]: the exit status, and a part of what is said; TEXT "" : nothing is said.
pitfall() {
    file=examples/pitfalls/$1.cu
    status=$2
    text=$3
    shift 3
    "$tessera" verify --device sim --file "$file" --shape 65x63x70 --layout nn "$@" >"$work/out" 2>"$work/said"
    got=$?
    if [ $got -ne "$status" ]; then
        fail "$file $*: exit status $got, expected $status"
        head -n 5 "$work/said"
    elif [ -n "$text" ] && ! grep -q -F "$text" "$work/said"; then
        fail "$file $*: \"$text\" was not said"
        head -n 5 "$work/said"
    elif [ -z "$text" ] && [ -s "$work/said" ]; then
        fail "$file $*: something was said"
        head -n 5 "$work/said"
    else pass; fi
}

# broken KERNEL TYPE CHANGE TEXT: a kernel that is changed in one place is found out by special data, and by those alone; the
# sentence has the text, and the command that it ends with finds it again.
broken() {
    sed "$3" "kernels/$1.cu" >"$work/$1.cu"
    "$tessera" verify --device sim --file "$work/$1.cu" --type "$2" --shape 17x9x33 >"$work/out" 2>"$work/said"
    try "$1 in $2 with $3 is found out" test $? = 1
    try "$1 in $2 with $3: what is wrong is said" grep -q "wrong with special data.*$4" "$work/said"
    if grep -q 'wrong with \(random\|exact\)' "$work/said"; then fail "$1 in $2 with $3: other data tell it too"; else pass; fi
    again=$(sed -n 's/^  repeat it with: tessera //p' "$work/said" | head -n 1)
    # shellcheck disable=SC2086
    "$tessera" $again >"$work/out" 2>"$work/said"
    try "$1 in $2 with $3 is found out again: $again" grep -q "wrong with special data" "$work/said"
}

# line FILE TEXT: the number of the line that has the text.
line() { grep -n -F "$2" "examples/pitfalls/$1.cu" | head -n 1 | cut -d : -f 1; }

if "$tessera" verify 1 --device sim:checked --shape 2x2x2 --type f32 >/dev/null 2>&1; then
    fill=$(line missing_barrier 'As[ty][tx] =')
    use=$(line missing_barrier 'FMA(As')
    pitfall missing_barrier 1 "shared-memory race at missing_barrier.cu:$fill"
    pitfall missing_barrier 1 "read at line $use with no barrier between"
    pitfall bank_conflicts 0 "bank conflicts at bank_conflicts.cu:$(line bank_conflicts 'FMA(As'): a 4-byte read of a warp takes 32.0 wavefronts"
    pitfall bank_conflicts 0 "" --params PAD=1
    pitfall unused_prefetch 0 ""
    TESSERA_SIM_ARCH=60
    export TESSERA_SIM_ARCH
    pitfall large_tile 0 "leave 2 blocks on a multiprocessor of sm_60"
    pitfall large_tile 0 "" --params TILE=32
    pitfall large_tile 1 "has 73728 bytes of __shared__ variables, but a kernel may have 49152" --params TILE=96
    unset TESSERA_SIM_ARCH
    # What goes wrong in the smallest product is an error too, and no reason to check less.
    sed 's/row >= g\.m/row > g.m/' kernels/simt_02_coalesced.cu >"$work/simt_02_coalesced.cu"
    "$tessera" verify --device sim --file "$work/simt_02_coalesced.cu" --shape 1x1x1 --layout nn >"$work/out" 2>"$work/said"
    try "an error in the smallest product is one" test $? = 1
    try "an error in the smallest product is named" grep -q 'simt_02_coalesced.cu:' "$work/said"
    # Kernels that only special data tell from right ones.
    store='s/store(&g, row, col, \(sum[^)]*\))/store(\&g, row, col, '
    broken simt_02_coalesced f32 's/sum = FMA(LOAD(a/if (LOAD(a[k]) != 0) &/' 'want nan'
    broken simt_02_coalesced f64 "$store\\1 != \\1 ? 0 : \\1)/" 'want nan'
    broken simt_02_coalesced f32 "$store\\1 + 0 * \\1)/" 'got nan, want'
    broken simt_02_coalesced f32 "$store\\1 < -3e38f ? -\\1 : \\1)/" 'inf, want'
    broken simt_02_coalesced f32 "$store\\1 > 3e38f ? 3e38f : \\1)/" 'want inf'
    broken simt_09_tile2d f16 "$store\\1 > 65504 \\&\\& \\1 < 1e30f ? 65504 : \\1)/" 'got 65504, want inf'
    broken simt_09_tile2d bf16 "$store\\1 > 1e30f ? 0.0f : \\1)/" 'got 0, want inf'
else
    skip "pitfalls: no traced modules here (gcc makes them)"
fi
TESSERA_SIM_ARCH=17 "$tessera" verify 1 --device sim --shape 2x2x2 >/dev/null 2>"$work/said"
try "an unknown architecture is refused" grep -q "TESSERA_SIM_ARCH is '17'" "$work/said"

try "the ladder passes with every access checked" "$tessera" verify 'simt_*' --device sim --type f32 --shape 33x31x35 --layout nn
try "tensor cores copy element by element if asked to, with every access checked" "$tessera" verify 'mma_0[2-7]*' --device sim \
    --type bf16 --params VEC=1,BM=64,BN=64,WM=32,WN=32,KSTEPS=2 --shape 65x63x35 --layout tn
try "f32 is rounded to bf16 with every access checked" "$tessera" verify simt_09_tile2d --device sim --type f32 \
    --compute bf16 --shape 33x31x35 --ld-pad 1

# With clang alone kernels run and results are checked, and it is said that accesses are not.
if command -v clang >/dev/null; then
    mkdir -p "$work/clang-only"
    for tool in clang ld as; do ln -sf "$(command -v $tool)" "$work/clang-only/$tool"; done
    PATH=$work/clang-only TESSERA_CACHE_DIR=$work/clang-cache "$tessera" verify 5 --device sim --params TILE=8 --type f32 \
        --shape 17x9x33 --layout nn >"$work/out" 2>"$work/said"
    try "with clang alone an edited kernel still runs" grep -q PASS "$work/out"
    try "with clang alone it is said what is missing" grep -q gcc "$work/said"
else
    skip "with clang alone: there is no clang here"
fi

# Without any, what is not there ready-made is not run; that is not called wrong, and said once.
mkdir -p "$work/no-compiler"
PATH=$work/no-compiler TESSERA_CACHE_DIR=$work/empty-cache "$tessera" verify 5 --device sim --params TILE=8 --type f32 \
    --shape 17x9x33 --layout nn >"$work/out" 2>"$work/said"
try "without a compiler the exit status is 1" test $? -eq 1
try "without a compiler a kernel is not run" grep -q '1 .*NOT RUN' "$work/out"
try "without a compiler it is said why, once" test "$(grep -c 'simt_05_shared cannot be run: .*no C compiler' "$work/said")" -eq 1
try "without a compiler nothing is called wrong" sh -c '! grep -q "is wrong" "$1"' - "$work/said"

# ---- The card's bits ----

card=bench/results/h200/hashes.csv
"$build/tests/tools/hashes" sim >"$work/sim.csv" 2>"$work/said" || fail "hashes: $(head -n 1 "$work/said")"
if [ -e $card ]; then
    # A kernel whose code has changed since is not confirmed, which is said and is no failure.
    awk -F, 'NR == FNR { code[$1 "," $3 "," $4 "," $5 "," $6 "," $7] = $2; bits[$1 "," $3 "," $4 "," $5 "," $6 "," $7] = $8; next }
        FNR == 1 { next }
        { key = $1 "," $3 "," $4 "," $5 "," $6 "," $7 }
        !(key in bits) || code[key] != $2 { print $1 >changed; next }
        bits[key] != $8 { print key ": the card has " bits[key] ", the simulator " $8 }' \
        changed="$work/changed" $card "$work/sim.csv" >"$work/differ"
    none "results that differ from the card's" "$work/differ"
    [ ! -s "$work/changed" ] || skip "not yet confirmed on a card: $(sort -u "$work/changed" | tr '\n' ' ')"
else
    skip "the card's bits: $card is not there (build/tests/tools/hashes cuda writes it)"
fi

# ---- Speed ----

# speed DEVICE SECONDS KERNEL [OPTION...]: one product of 512³ on one core. A machine that is busy, or slower than
# those of today, gets ten times as long.
speed() {
    device=$1
    most=$2
    shift 2
    seconds=$(TESSERA_NUM_THREADS=1 "$tessera" bench "$@" --device "$device" --sizes 512 --peer none --no-verify --samples 1 \
        --quiet --csv - 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_ms") at = i } NR == 2 { print $at / 1000 }')
    printf '%s %s: %s s, bound %s s\n' "$device" "$*" "$seconds" "$most"
    if awk "BEGIN { exit !(\"$seconds\" != \"\" && $seconds + 0 <= 10 * $most) }"; then pass
    else fail "$device $*: $seconds s for 512³ on one core, far above $most s"; fi
}
speed sim 1 simt_05_shared --params TILE=16
speed sim 0.1 simt_09_tile2d
if [ "${TESSERA_TEST_SHORT:-0}" != 1 ] && "$tessera" verify 1 --device sim:checked --shape 2x2x2 --type f32 >/dev/null 2>&1; then
    speed sim:checked 5 simt_05_shared --params TILE=16
    speed sim:checked 1 simt_09_tile2d
fi

finish sim
