#!/bin/sh
# tests/demo.sh [BUILD]: what `make demo` shows fits one screen, is complete, and is there in time; and it leaves the report.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
unset TESSERA_DEVICE

rm -f "$build/report.html"
count_cpu
start=$cpu
LC_ALL=C.UTF-8 sh scripts/demo.sh "$build/tessera" >"$work/screen" 2>"$work/said"
status=$?
count_cpu
seconds=$((cpu - start))
if [ $status -eq 0 ] && [ ! -s "$work/said" ]; then pass
else fail "the demo ends with status $status and says: $(head -n 5 "$work/said")"; fi
if [ $seconds -le 120 ]; then pass; else fail "the demo takes $seconds s of processor time; it must be under two minutes"; fi

# A block is one column, though three bytes.
sed 's/█/#/g' "$work/screen" | awk 'length($0) > 80 { print NR ": " length($0) " columns" }' >"$work/wide"
none "lines of the demo that are wider than 80 columns" "$work/wide"
lines=$(wc -l <"$work/screen")
if [ "$lines" -le 45 ]; then pass; else fail "the demo has $lines lines; a screen has 45"; fi

# Every rung but the one for batches has its counters and a rate, and the CPU's kernels theirs.
for kernel in $("$build/tessera" list --csv - | sed -n 's/^[0-9]*,\(simt_[^,]*\),.*/\1/p' | grep -v batched); do
    grep -q -E "^  $kernel +[0-9.]+ +[0-9.]+ +[1-9][0-9]*" "$work/screen" || echo "$kernel"
done >"$work/missing"
for kernel in cpu_01_naive cpu_02_streamed cpu_03_packed cpu_04_direct; do
    grep -q -E "^  $kernel +[0-9]*\.[0-9]" "$work/screen" || echo "$kernel"
done >>"$work/missing"
none "kernels that the demo does not show" "$work/missing"
# A compiler that keeps the sums of a tile in memory makes a fifth of the rate: that is what streaming has.
climbs=$(awk '$1 == "cpu_02_streamed" { streamed = $2 } $1 == "cpu_03_packed" { print ($2 >= 2 * streamed) }' "$work/screen")
if [ "$climbs" = 1 ]; then pass
else fail "cpu_03_packed is not twice as fast as cpu_02_streamed: $(grep -E '^  cpu_0[23]' "$work/screen")"; fi
if grep -q '</html>' "$build/report.html" && grep -q '<svg' "$build/report.html"; then pass
else fail "the demo leaves no whole report in $build/report.html"; fi

finish demo
