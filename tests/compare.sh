#!/bin/sh
# tests/compare.sh BUILD_DIR: `tessera compare` finds what changed, and nothing else: verdicts on planted changes, on
# simulated runs and on runs that were really made; files that are read back, and those that are refused.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:?usage: sh tests/compare.sh BUILD_DIR}
tessera=$build/tessera
runs=$build/tests/tools/runs
h200=bench/results/h200
seed=${SEED:-1}

# compare STATUS WHAT ARGUMENT...: runs it; what it wrote is in out and err.
compare() {
    wanted=$1 what=$2
    shift 2
    "$tessera" compare "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if [ $status = "$wanted" ]; then pass
    else fail "$what: exit $status, expected $wanted: tessera compare $*; $(head -n 3 "$work/err")"; fi
}
has() { if grep -qF -e "$3" "$work/$2"; then pass; else fail "$1: '$3' is not in $2: $(head -n 3 "$work/$2")"; fi; }
# verdicts FILE: how many cases got each, "95 equal 5 unsure".
verdicts() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "verdict") at = i; next } { n[$at]++ }
        END { for (v in n) print n[v], v }' "$1" | sort -k 2 | paste -s -d ' ' -
}
expect() { if [ "$2" = "$3" ]; then pass; else fail "$1: expected '$2', found '$3'"; fi; }

# ---- Planted changes ----

# slowed FACTOR FILE: the times of a file, each times a factor. Of rows that were noisy themselves no verdict can be expected.
slowed() {
    awk -F, -v OFS=, -v factor="$1" '/^#/ { next } { gsub(/"[^"]*"/, "") }
        $1 == "schema" { for (i = 1; i <= NF; i++) if ($i ~ /^(time|p10|p90)_ms$/) times[i]; else if ($i == "noise_pct") noise = i; print; next }
        $noise <= 5 { for (i in times) if ($i != "") $i *= factor; print }' "$2"
}
for file in "$h200"/ladder-f32.csv "$h200"/ladder-f64.csv bench/results/neoverse-n1/squares.csv; do
    [ -e "$file" ] || continue
    compare 0 "$file with itself" "$file" "$file" --csv "$work/self.csv"
    expect "$file with itself" equal "$(verdicts "$work/self.csv" | sed 's/^[0-9]* //')"
done
slowed 1 "$h200/ladder-f32.csv" >"$work/old.csv"
slowed 1.03 "$h200/ladder-f32.csv" >"$work/slow.csv"
slowed 0.97 "$h200/ladder-f32.csv" >"$work/fast.csv"
compare 1 '3 % slower' "$work/old.csv" "$work/slow.csv" --csv "$work/verdicts.csv"
expect '3 % slower' slower "$(verdicts "$work/verdicts.csv" | sed 's/^[0-9]* //')"
compare 0 '3 % faster' "$work/old.csv" "$work/fast.csv" --csv "$work/verdicts.csv"
expect '3 % faster' faster "$(verdicts "$work/verdicts.csv" | sed 's/^[0-9]* //')"
compare 0 'a threshold of 10 %' "$work/old.csv" "$work/slow.csv" --threshold 10 --csv "$work/verdicts.csv"
expect 'a threshold of 10 %' equal "$(verdicts "$work/verdicts.csv" | sed 's/^[0-9]* //')"

# ---- Simulated runs ----

# The noise of the rows that were measured on the H200, with the drift seen there between the rows of one size.
awk -F, '{ gsub(/"[^"]*"/, "") } $1 == "schema" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    /^#/ { next } $at["time_ms"] != "" { print $at["samples"], $at["noise_pct"], $at["time_ms"] }' \
    "$h200"/ladder-f32.csv "$h200"/ladder-i32.csv >"$work/noise"
# wrong SLOWDOWN RIGHT: of 100 pairs, those whose verdict is another one. Unsure is wrong, too.
wrong() {
    "$runs" "$seed" 100 0.2 "$1" "$work/a.csv" "$work/b.csv" <"$work/noise"
    "$tessera" compare "$work/a.csv" "$work/b.csv" --quiet --csv "$work/verdicts.csv" >/dev/null
    [ $? -le 1 ] || echo 'compare failed'
    verdicts "$work/verdicts.csv" | tr ' ' '\n' | paste - - | awk -v right="$2" '$2 != right { wrong += $1 } END { print wrong + 0 }'
}
for planted in 0:equal 3:slower -3:faster 10:slower; do
    missed=$(wrong "${planted%%:*}" "${planted#*:}")
    if [ "$missed" -lt 5 ] 2>/dev/null; then pass
    else fail "of 100 simulated pairs ${planted%%:*} % apart $missed are not ${planted#*:} (SEED=$seed)"; fi
done
# Where the noise is large, nobody can tell: that must not be called a change, nor equal.
echo '20 40 1.0' >"$work/noise"
missed=$(wrong 0 unsure)
if [ "$missed" -lt 5 ]; then pass; else fail "of 100 noisy pairs $missed get a verdict that is not unsure"; fi

# ---- Runs that were really made ----

# inside FILE: of pairs of runs of the same case, each with the next, how many intervals hold 1, in percent.
inside() {
    awk -F, -v OFS=, -v old="$work/a.csv" -v new="$work/b.csv" '/^#/ { next }
        $1 == "schema" { for (i = 1; i <= NF; i++) at[$i] = i; print >old; print >new; next }
        {
            key = $at["kernel"] " " $at["m"] " " $at["n"] " " $at["k"]
            run = ++count[key]
            $at["params"] = key " " run; print >old
            if (run > 1) { $at["params"] = key " " (run - 1); print >new }
        }' "$1"
    "$tessera" compare "$work/a.csv" "$work/b.csv" --quiet --csv "$work/pairs.csv" >/dev/null
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["ratio"] != "" { pairs++; held += $at["ratio_low"] <= 1 && $at["ratio_high"] >= 1 }
        END { if (pairs < 100) print "only", pairs + 0, "pairs"; else printf "%d\n", 100 * held / pairs }' "$work/pairs.csv"
}
coverage() {
    held=$(inside "$1")
    if [ "$held" -ge 95 ] 2>/dev/null; then pass; else fail "$2: $held % of the intervals hold 1; 95 % should"; fi
}
for kept in bench/results/*/repeats.csv; do
    [ -e "$kept" ] || continue
    coverage "$kept" "$kept"
done
if [ "${TESSERA_TEST_LONG:-0}" = 1 ]; then
    "$tessera" bench auto --device cpu --sizes 96 --threads 1 --repeat 101 --peer none --quiet \
        --csv "$work/repeats.csv" >/dev/null 2>&1
    coverage "$work/repeats.csv" 'runs made just now'
fi

# ---- Numbers ----

# near WHAT WANT COLUMN KERNEL: what the comparison says of the case, to three digits.
near() {
    found=$(awk -F, -v column="$3" -v kernel="$4" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["kernel"] == kernel { print $at[column] }' "$work/numbers.csv")
    if awk -v x="$found" -v want="$2" 'BEGIN { exit !(x != "" && x - want < 0.0006 && want - x < 0.0006) }'; then pass
    else fail "$1: $3 of $4 is '$found', expected $2"; fi
}
# Worked out by hand from compare_judge.c's account of what makes runs differ; the drift is 1 %.
cat >"$work/old.csv" <<'END'
kernel,m,n,k,samples,time_ms,p10_ms,p90_ms,interval_pct,cpu_ms
quiet,1,1,1,30,1,1,1,0,
known,1,1,1,30,1,1,1,2,
loud,1,1,1,30,1,0.74368,1,0,
low,1,1,1,30,1,0.93592,1,0,
robbed,1,1,1,30,1,1,1,0,1
repeated,1,1,1,30,1,1,1,0,
repeated,1,1,1,30,1.02,1.02,1.02,0,
repeated,1,1,1,30,1.3,1.3,1.3,0,
few,1,1,1,4,1,1,1.025632,,
twice,1,1,1,30,1,1,1,0,
twice,1,1,1,30,1,1,1,0,
gone,1,1,1,30,1,1,1,0,
END
cat >"$work/new.csv" <<'END'
kernel,m,n,k,samples,time_ms,p10_ms,p90_ms,interval_pct,cpu_ms
quiet,1,1,1,30,1.1,1.1,1.1,0,
known,1,1,1,30,1.1,1.1,1.1,0,
loud,1,1,1,30,1.1,1.1,1.1,0,
low,1,1,1,30,1.1,1.1,1.1,0,
robbed,1,1,1,30,1.1,1.1,1.1,0,0.55
repeated,1,1,1,30,1.02,1.02,1.02,0,
few,1,1,1,30,1.1,1.1,1.1,0,
twice,1,1,1,30,1.1,1.1,1.1,0,
END
compare 1 numbers "$work/old.csv" "$work/new.csv" --drift 1 --csv "$work/numbers.csv"
near 'the drift of two runs' 1.1 ratio quiet
near 'the drift of two runs' 1.0699 ratio_low quiet
near 'the drift of two runs' 1.1309 ratio_high quiet
near 'the interval of a median' 1.0630 ratio_low known
near 'a machine that was slowed' 0.7425 ratio_low loud
near 'samples that differ by less' 1.0398 ratio_low low
near 'CPU time that others took' 0.2826 ratio_low robbed
near 'the median of repeated runs' 1 ratio repeated
near 'runs that differ from one another' 0.8457 ratio_low repeated
near 'few samples without an interval' 1.0592 ratio_low few
near 'a measurement that is there twice' 1 old_runs twice
near 'runs that were repeated' 3 old_runs repeated
has 'the mean is that of cases in both' out 'geometric mean of the changes +8.70%'
# Each field tells cases apart by itself.
for field in params device threads type compute m n k batch layout lda ldb ldc alpha beta cache mode; do
    case $field in
    m | n | k) sizes=$(echo m,n,k | sed "s/$field/other/") ;;
    *) sizes=m,n,k ;;
    esac
    printf 'kernel,%s,%s,samples,time_ms,p10_ms,p90_ms\nx,1,1,1,1,30,1,1,1\nx,1,1,1,2,30,2,2,2\n' "$sizes" "$field" >"$work/apart.csv"
    compare 0 "cases by $field" "$work/apart.csv" "$work/apart.csv"
    has "cases by $field" out '2 cases: 2 equal'
done

# ---- Files ----

head='kernel,m,n,k,samples,time_ms,p10_ms,p90_ms'
printf '# model: A\n%s\nx,1,1,1,30,1.0,0.99,1.01\ny,1,1,1,30,1.0,0.99,1.01\n' "$head" >"$work/one.csv"
printf '# model: B\n%s\nx,1,1,1,30,1.001,0.99,1.01\nz,1,1,1,30,1.0,0.99,1.01\n' "$head" >"$work/two.csv"
compare 0 'cases of one file only' "$work/one.csv" "$work/two.csv"
has 'cases of one file only' out 'only old'
has 'cases of one file only' out 'only new'
has 'another device is said' err "the device differs: 'A'"
compare 0 'equal cases left out' "$work/one.csv" "$work/two.csv" --changed
if grep -q equal "$work/out" && ! grep -q '1 equal' "$work/out"; then fail "--changed shows what is equal"; else pass; fi
printf '%s\nx,1,1,1,,,,\n' "$head" >"$work/wrong.csv"
compare 1 'a wrong result is a failure' "$work/one.csv" "$work/wrong.csv"
has 'a wrong result is a failure' out failed
printf '%s\nauto:one,1,1,1,30,1,0.99,1.01\n' "$head" >"$work/auto1.csv"
printf '%s\nauto:two,1,1,1,30,0.5,0.49,0.51\n' "$head" >"$work/auto2.csv"
compare 0 'another kernel is planned' "$work/auto1.csv" "$work/auto2.csv"
has 'another kernel is planned' out faster
printf '%s\nx,1,1,1,1,1.0,1.0,1.0\n' "$head" >"$work/single.csv"
compare 0 'one sample' "$work/one.csv" "$work/single.csv"
has 'one sample is never sure' out unsure

"$tessera" bench 1 --device cpu --sizes 8,16 --peer none --samples 5 --quiet --csv "$work/both.csv" --json "$work/both.json" >/dev/null
compare 0 'CSV with JSON' "$work/both.csv" "$work/both.json"
has 'CSV with JSON' out '2 equal'
for form in --json --csv --md; do
    if [ $form = --md ]; then compare 0 "$form" "$work/both.csv" "$work/both.json" --md
    else compare 0 "$form" "$work/both.csv" "$work/both.json" $form -; fi
    has "$form" out verdict
done
if "$tessera" compare - "$work/both.csv" <"$work/both.json" >/dev/null 2>&1; then pass; else fail 'standard input'; fi

# refused TEXT OLD-CONTENTS: a file that cannot be compared, and the sentence that says why.
refused() {
    printf '%b' "$2" >"$work/bad"
    compare 2 "$1" "$work/bad" "$work/one.csv"
    has "$1" err "$1"
    expect "$1: nothing on stdout" '' "$(cat "$work/out")"
}
refused 'holds no rows' ''
refused 'holds no rows' "$head\n"
refused "has no column 'kernel'" 'a,b\n1,2\n'
refused "line 3 of" "$head\nx,1,1,1,30,1,1,1\nx,1,1\n"
refused 'a quote is not closed' "$head\nx,1,1,\"1,30,1,1,1\n"
refused "names the column 'm' twice" 'kernel,m,m\nx,1,1\n'
refused 'zero byte' 'kernel\000\n'
refused 'no percentiles' "$head\nx,1,1,1,30,1.0,,\n"
refused 'line 2 of' '{"context": {},\n "benchmarks": [{"kernel": "x" "m": 1}]}'
refused 'a string is not closed' '{"context": {"date": "x\n'
refused 'nested too deeply' "$(printf '%0100d' 0 | sed 's/0/{"a":/g')"
refused 'follows the closing bracket' '{"benchmarks": [{"m": 1}]} x'
refused 'no escape' '{"benchmarks": [{"m": "\\q"}]}'
compare 2 'a missing file' "$work/nowhere" "$work/one.csv"
has 'a missing file' err 'could not read'
compare 2 'one file' "$work/one.csv"
compare 2 'no files'
compare 2 'stdin twice' - -
compare 2 'a bad threshold' "$work/one.csv" "$work/two.csv" --threshold x
printf '%s\nq,1,1,1,30,1,1,1\n' "$head" >"$work/other.csv"
compare 2 'nothing in common' "$work/one.csv" "$work/other.csv"
has 'nothing in common' err 'no case in common'
# What a file holds does not steer the terminal.
printf '%s\nq\033[31m,1,1,1,30,1,1,1\n' "$head" >"$work/steers.csv"
compare 0 'a name with an escape' "$work/steers.csv" "$work/steers.csv"
has 'a name with an escape' out 'q?[31m'
tr -d '\033' <"$work/out" | cmp -s - "$work/out"
expect 'no escape is printed' 0 $?

finish compare
