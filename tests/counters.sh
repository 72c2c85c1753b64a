#!/bin/sh
# tests/counters.sh [BUILD]: the simulator counts what Nsight Compute has counted on the cards whose results are kept.
# Kernels whose code has changed since, comments aside, are listed: `sh scripts/gpu.sh build counters counters_mma` confirms them.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
tool=$build/tests/tools/counters

# ---- The way from ncu's table to ours, on a table made up from four launches ----

cat >"$work/run.csv" <<'END'
kernel,kernel_hash,params,type,m,n,k
simt_02_coalesced,0,BX=32 BY=32,f32,256,256,256
simt_05_shared,0,TILE=32,f32,256,256,256
simt_05_shared,0,TILE=32,f32,256,256,256
simt_05_shared,0,TILE=32,f32,512,512,512
END
cat >"$work/ncu.csv" <<'END'
==PROF== Connected to process 7
"ID","Process ID","Process Name","Host Name","Kernel Name","Grid Size","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed_op_shared_ld.sum"
"","","","","","","",""
"0","7","counters","somewhere","scale_strided(gemm)","(8, 8, 1)","1","2"
"1","7","counters","somewhere","simt_02_coalesced","(8, 8, 1)","1,048,576","0"
"2","7","counters","somewhere","simt_05_shared","(8, 8, 1)","32,768","655,399"
"3","7","counters","somewhere","simt_05_shared","(8, 8, 1)","32,768","655,360"
"4","7","counters","somewhere","simt_05_shared","(16, 16, 1)","262,144","5,242,880"
END
"$tool" join "$work/run.csv" "$work/ncu.csv" >"$work/joined.csv"
cut -d, -f1,5,8,12 "$work/joined.csv" >"$work/columns"
cat >"$work/expected" <<'END'
kernel,m,load_requests,shared_load_instructions
simt_02_coalesced,256,1048576,0
simt_05_shared,256,32768,655360
simt_05_shared,512,262144,5242880
END
same "ncu's table is read, and the quietest of equal runs taken" "$work/expected" "$work/columns"
"$tool" clean "$work/ncu.csv" >"$work/clean.csv"
grep -n somewhere "$work/clean.csv" >"$work/names"
none "the machine's name is kept" "$work/names"
sed '$d' "$work/ncu.csv" >"$work/short.csv"
if "$tool" join "$work/run.csv" "$work/short.csv" >/dev/null 2>&1; then fail "a launch is missing, and nobody minds"; else pass; fi

# ---- What the cards have said ----

"$build/tessera" devices --csv - 2>/dev/null | grep -q '^"\{0,1\}sim:checked' || {
    skip "the cards' counters: accesses are traced by gcc, which is not here"
    finish counters
    exit
}
# An H200 has counted these for 16×16 tiles; a digit that is wrong must be noticed, and so must one that is missing.
hash=$("$tool" hash simt_05_shared)
head -n 1 "$work/joined.csv" >"$work/card.csv"
echo "simt_05_shared,$hash,TILE=16,f32,256,256,256,65536,262144,2048,8192,655360,65536,0,786439,7,65536,0,786432,65536,,,16777216" >>"$work/card.csv"
"$tool" check "$work/card.csv" simt >"$work/said" 2>&1
try "an H200's counters are confirmed" grep -qx '11 passed, 0 failed' "$work/said"
try "one shape is not enough" test "$(grep -c '^not yet confirmed' "$work/said")" = "$(ls kernels/simt_*.cu | wc -l)"
# noticed WHAT SED SENTENCE [FAMILY FILE]: the file, changed by sed, fails with that sentence.
noticed() {
    sed "$2" "$work/${5:-card}.csv" >"$work/wrong.csv"
    if "$tool" check "$work/wrong.csv" "${4:-simt}" >"$work/said" 2>&1; then fail "$1 is not noticed"
    else try "$1 is named" grep -q "$3" "$work/said"; fi
}
noticed "a wrong counter" 's/,262144,/,262145,/' 'global_load_sectors is 262145 on the card, 262144 in the simulator'
noticed "a conflict" 's/,786439,7,/,786439,8,/' 'shared_load_conflicts is 1 on the card, 0 in the simulator'
noticed "a counter that is missing" 's/,262144,/,,/' 'there is no load_sectors'
sed 's/^simt_05_shared,./simt_05_shared,x/' "$work/card.csv" >"$work/other.csv"
"$tool" check "$work/other.csv" simt >"$work/said" 2>&1
try "what was counted of other code is not compared" grep -qx '0 passed, 0 failed' "$work/said"

# Of a kernel for tensor cores, as Nsight's columns would have it: what the simulator counts, shared among them.
head -n 1 "$work/joined.csv" >"$work/mma.csv"
echo "mma_02_shared,$("$tool" hash mma_02_shared),BM=128 BN=128 KSTEPS=2 WM=64 WN=32 AT=0 BT=0 VEC=8,bf16,256,256,256,1024,16384,2048,4096,2048,2048,0,14336,0,10240,4096,2048,10240,0,0,0,3072,12288,0,8192,0" >>"$work/mma.csv"
"$tool" check "$work/mma.csv" mma >"$work/said" 2>&1
try "a kernel for tensor cores is compared" grep -qx '11 passed, 0 failed' "$work/said"
noticed "an mma too many" 's/,8192,/,8193,/' 'mma_instructions is 8193 on the card, 8192 in the simulator' mma mma
noticed "a conflict of ldmatrix" 's/,12288,0,/,12290,0,/' 'shared_load_conflicts is 2 on the card, 0 in the simulator' mma mma
noticed "an ldmatrix that is not counted" 's/,3072,/,,/' 'there is no ldmatrix_instructions' mma mma

# What an H200 has of copies under predicate P0, which Nsight does not see: no more and no less is excepted.
head -n 1 "$work/joined.csv" >"$work/copies.csv"
echo "mma_07_raster,$("$tool" hash mma_07_raster),BM=256 BN=128 KSTEPS=2 WM=64 WN=64 STAGES=4 GROUP=8 AT=0 BT=1 VEC=16,i8,256,256,256,384,6144,1024,8192,0,0,384,4608,0,0,0,0,0,2304,0,0,1152,4608,0,0,4096" >>"$work/copies.csv"
"$tool" check "$work/copies.csv" mma >"$work/said" 2>&1
try "what Nsight does not see is listed" grep -q '^excepted mma_07_raster i8.*wavefronts is 2304 on the card, 3072 in' "$work/said"
try "and the rest is compared" grep -qx '10 passed, 0 failed' "$work/said"
noticed "a copy less than the excepted ones" 's/,2304,/,2303,/' 'shared_store_wavefronts is 2303 on the card' mma copies

for file in counters:simt counters-mma:mma; do
    for card in bench/results/*/"${file%:*}.csv"; do
        [ -e "$card" ] || card="no ${file%:*}.csv of a card is kept"
        "$tool" check "$card" "${file#*:}" >"$work/said" 2>&1 || { fail "$card:"; sed 's/^/    /' "$work/said" | head -n 60; }
        counts=$(tail -n 1 "$work/said")
        passed=$((passed + ${counts%% passed*}))
        unconfirmed=$(sed -n 's/^not yet confirmed on a card: //p' "$work/said" | tr '\n' ' ')
        [ -z "$unconfirmed" ] || skip "$card: not yet confirmed on a card: $unconfirmed"
    done
done
finish counters
