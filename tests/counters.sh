#!/bin/sh
# tests/counters.sh [BUILD]: the simulator counts what Nsight Compute has counted on the cards whose results are kept.
# Kernels whose code has changed since, comments aside, are listed: `sh scripts/gpu.sh build counters` confirms them.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
tool=$build/tests/tools/counters

# ---- The way from ncu's table to ours, on a table made up from two launches ----

cat >"$work/run.csv" <<'END'
kernel,kernel_hash,params,type,m,n,k
simt_02_coalesced,0,BX=32 BY=32,f32,256,256,256
simt_05_shared,0,TILE=32,f32,256,256,256
END
cat >"$work/ncu.csv" <<'END'
==PROF== Connected to process 7
"ID","Process ID","Process Name","Host Name","Kernel Name","Grid Size","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed_op_shared_ld.sum"
"","","","","","","",""
"0","7","counters","somewhere","scale_strided(gemm)","(8, 8, 1)","1","2"
"1","7","counters","somewhere","simt_02_coalesced","(8, 8, 1)","1,048,576","0"
"2","7","counters","somewhere","simt_05_shared","(8, 8, 1)","32,768","655,360"
END
"$tool" join "$work/run.csv" "$work/ncu.csv" >"$work/joined.csv"
cut -d, -f1,5,8,15 "$work/joined.csv" >"$work/columns"
cat >"$work/expected" <<'END'
kernel,m,load_requests,shared_load_instructions
simt_02_coalesced,256,1048576,0
simt_05_shared,256,32768,655360
END
same "ncu's table is read" "$work/expected" "$work/columns"
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
# An H200 has counted these for 16×16 tiles; a digit that is wrong must be noticed, and so must other code.
row="simt_05_shared,$("$tool" hash simt_05_shared),TILE=16,f32,256,256,256,65536,262144,2048,8192,,,,655360,65536,786432,0,,"
head -n 1 "$work/joined.csv" >"$work/card.csv"
echo "$row" >>"$work/card.csv"
try "an H200's counters are confirmed" "$tool" check "$work/card.csv"
"$tool" check "$work/card.csv" | grep -c '^not yet confirmed' >"$work/rest"
try "all other kernels are still to be confirmed" grep -qx 11 "$work/rest"
sed 's/,262144,/,262145,/' "$work/card.csv" >"$work/wrong.csv"
if "$tool" check "$work/wrong.csv" >"$work/said" 2>&1; then fail "a wrong counter is not noticed"
else try "the wrong counter is named" grep -q 'load_sectors is 262145 on the card, 262144 in the simulator' "$work/said"; fi
sed 's/^simt_05_shared,./simt_05_shared,x/' "$work/card.csv" >"$work/other.csv"
try "other code is not confirmed" sh -c "'$tool' check '$work/other.csv' | grep -q 'not yet confirmed on a card: simt_05_shared'"

for card in bench/results/*/counters.csv; do
    [ -e "$card" ] || card='no counters of a card are kept'
    "$tool" check "$card" >"$work/said" 2>&1 || { fail "$card:"; sed 's/^/    /' "$work/said" | head -n 60; }
    counts=$(tail -n 1 "$work/said")
    passed=$((passed + ${counts%% passed*}))
    unconfirmed=$(sed -n 's/^not yet confirmed on a card: //p' "$work/said" | tr '\n' ' ')
    [ -z "$unconfirmed" ] || skip "$card: not yet confirmed on a card: $unconfirmed"
done
finish counters
