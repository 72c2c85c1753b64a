#!/bin/sh
# tests/report.sh [BUILD]: `tessera report`: pages and pictures from files and from fresh runs, that need nothing but
# themselves, and files that are whole or not there.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
tessera=$build/tessera
results=bench/results/h200
case $tessera in /*) ;; *) tessera=$PWD/$tessera ;; esac
unset TESSERA_DEVICE TESSERA_PEER TESSERA_VERBOSE

# fails STATUS WORD COMMAND...: ends with that status, and says something with the word in it.
fails() {
    status=$1 word=$2
    shift 2
    "$@" >"$work/out" 2>&1
    got=$?
    if [ $got -eq "$status" ] && grep -q -- "$word" "$work/out"; then pass
    else
        fail "exit status $got, not $status, or no word of '$word': $*"
        sed 's/^/    /' "$work/out" | head -n 10
    fi
}

# ---- Well-formed, self-contained, explained ----

if command -v xmllint >/dev/null; then well_formed() { xmllint --noout "$1"; }
elif command -v python3 >/dev/null; then well_formed() { python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$1"; }
else well_formed() { :; }; skip "well-formed XML: neither xmllint nor python3 is here"; fi

# page FILE: what every page has to be.
page() {
    try "$1 is well-formed" well_formed "$1"
    size=$(wc -c <"$1")
    try "$1 has $size bytes, less than a million" test "$size" -lt 1000000
    grep -o -E '(src|href|action)="[^#"][^"]*"|url\([^)]*\)|@import|<script|<link|<iframe|https?:' "$1" >"$work/outside"
    none "$1 needs something from outside" "$work/outside"
    # A figure has its origin, two pictures, a caption, a command that draws it and its numbers.
    sed -n 's/^<section id="\([a-z0-9-]*\)">$/\1/p' "$1" >"$work/figures"
    try "$1 has figures" test -s "$work/figures"
    while read -r figure; do
        sed -n "/^<section id=\"$figure\">\$/,/^<\/section>/p" "$1" >"$work/figure"
        for part in 'class="badge \(measured\|simulated\|predicted\)"' '<div class="wide"><svg' '<div class="narrow"><svg' \
            'aria-label="[^"]' '<figcaption>[A-Z]' "^tessera report.* --chart $figure\$\|>tessera report.* --chart $figure\$" \
            '<table>'; do
            grep -q "$part" "$work/figure" || echo "$figure: $part"
        done
    done <"$work/figures" >"$work/lacking"
    none "$1 has figures that lack something" "$work/lacking"
    grep -o -i -E '="[^"]*(nan|inf)[^a-z"]*"' "$1" >"$work/nan"
    none "$1 has places that are no numbers" "$work/nan"
}

try "a page from $results" "$tessera" report $results -o "$work/h200.html" --quiet
page "$work/h200.html"
for figure in rate ladder roofline counters tile types split cache rate-f64 ladder-f64; do
    grep -q -x "$figure" "$work/figures" || echo "$figure"
done >"$work/absent"
none "figures that $results has data for are not on the page" "$work/absent"
try "throttled points are marked" grep -q 'class="throttled"' "$work/h200.html"
try "the peer and the peak are lines" grep -q 'peak, measured: 65\.[0-9]' "$work/h200.html"
try "percentiles are bands" grep -q 'class="band f' "$work/h200.html"

# Numbers on the page are those of the file: the ladder's best against the CSV.
best=$(awk -F, '$2 ~ /^simt_/ && $8 == 8192 && $32 > ratio { kernel = $2; ratio = $32 }
    END { printf "%s runs at %.2f times", kernel, ratio }' $results/ladder-f32.csv)
try "the ladder's best at 8192: $best" grep -q "$best" "$work/h200.html"

for directory in bench/results/*/; do
    try "a page from $directory" "$tessera" report "$directory" -o "$work/any.html" --quiet
    page "$work/any.html"
done

# ---- Pictures alone ----

while read -r figure; do
    "$tessera" report $results --svg "$work/$figure.svg" --chart "$figure" --quiet || echo "$figure"
    well_formed "$work/$figure.svg" || echo "$figure is not well-formed"
    for part in 'xmlns="http://www.w3.org/2000/svg"' '<title>' 'prefers-color-scheme:dark' '<text'; do
        grep -q "$part" "$work/$figure.svg" || echo "$figure: $part"
    done
    grep -o -E 'href=|url\(|<script|@import|20[0-9][0-9]-[01][0-9]-' "$work/$figure.svg"
done <<EOF >"$work/pictures" 2>&1
rate
ladder
counters
roofline
EOF
none "pictures alone are not what they should be" "$work/pictures"
"$tessera" report $results --svg - --chart ladder >"$work/again.svg"
same "the same picture is the same bytes" "$work/ladder.svg" "$work/again.svg"
fails 1 'there are: rate' "$tessera" report $results --svg "$work/x.svg" --chart nonsense
fails 2 'belong together' "$tessera" report $results --svg "$work/x.svg"
fails 2 'give one' "$tessera" report $results --svg "$work/x.svg" --chart rate -o "$work/x.html"

# ---- Other files ----

"$tessera" bench auto --device cpu --sizes 16,32,64 --min-time 0.001 --max-time 0.001 --peer none --csv "$work/few.csv" \
    --json "$work/few.json" --quiet >/dev/null
for file in few.csv few.json; do
    try "a page from $file" "$tessera" report "$work/$file" -o "$work/few.html" --quiet
    page "$work/few.html"
    try "its command is the one of the file" grep -q '<code>tessera bench auto --device cpu --sizes 16,32,64' "$work/few.html"
done

for file in tile transfers; do
    try "a page from $file.csv alone" "$tessera" report $results/$file.csv -o "$work/one.html" --quiet
    page "$work/one.html"
    try "an absent figure is named, with its command" grep -q 'Cold against warm: tessera bench auto' "$work/one.html"
done

# Of a file with several runs each rate has the command of its own; once one has none, a command for all is made. What a kernel
# reached comes first, not its peer, even if that was run by itself.
cat >"$work/runs.csv" <<'EOF'
# command: tessera bench first
kernel,type,m,n,k,gflops,device,peer,peer_gflops,ratio,params
simt_05_shared,f32,128,128,128,10,cuda:0,cublas,20,0.5,
simt_06_prefetched,f32,128,128,128,11,cuda:0,cublas,20,0.55,TILE=16
# command: tessera bench second
simt_05_shared,f32,256,256,256,30,cuda:0,cublas,60,0.5,
cublas,f32,256,256,256,61,cuda:0,,,,
simt_06_prefetched,f32,128,128,128,12,cuda:0,cublas,20,0.6,TILE=32
simt_01_uncoalesced,f32,128,128,128,2,cuda:0,,,,"BX=16,BY=16"
simt_01_uncoalesced,f32,128,128,128,1,cuda:0,,,,"BX=32,BY=32"
EOF
try "a page from two runs in a file" "$tessera" report "$work/runs.csv" -o "$work/runs.html" --quiet
sed -n '/^<section id="rate">$/,/^<\/section>/p' "$work/runs.html" >"$work/figure"
try "it has the command of the first" grep -q 'tessera bench first' "$work/figure"
try "and that of the second" grep -q 'tessera bench second' "$work/figure"
try "and says what was not verified" grep -q 'of 7 of 7 rates the files do not say' "$work/runs.html"
try "the first number is that of a kernel" grep -q '<b>30.0 GFLOPS</b><span>f32 at 256, simt_05_shared' "$work/runs.html"
sed -n '/^<section id="tile">$/,/^<\/section>/p' "$work/runs.html" | grep -o '<text[^>]*>[16] [a-z]*</text>' | sed 's/<[^>]*>//g' | uniq | head -n 2 | paste -s -d , - >"$work/order"
try "rungs stand in the order of the ladder: $(cat "$work/order")" grep -q -x '1 uncoalesced,6 prefetched' "$work/order"
sed '/^#/d' "$work/runs.csv" >"$work/silent.csv"
sed 1d "$work/runs.csv" >"$work/half.csv"
for file in silent half; do
    "$tessera" report "$work/$file.csv" -o "$work/runs.html" --quiet
    try "without a command one is made ($file)" grep -q '<code>tessera bench --device cuda:0 --kernels simt_05_shared --sizes 128,256' "$work/runs.html"
done

# Whatever a file calls its kernels is text, not markup.
cat >"$work/hostile.csv" <<'EOF'
kernel,type,m,n,k,gflops,device,peer,peer_gflops,time_ms,p10_ms,p90_ms
"<script>alert(1)</script>",f32,128,128,128,10,cpu,"a&b""c",20,1,0.9,1.1
"<script>alert(1)</script>",f32,256,256,256,20,cpu,"a&b""c",30,1,0.9,1.1
simt_05_shared,f32,128,128,128,1e308,cpu,,,1,-1,nan
EOF
printf 'caf\377,f32,256,256,256,12,cpu,,,1,1,1\n' >>"$work/hostile.csv"
try "a page from hostile names" "$tessera" report "$work/hostile.csv" -o "$work/hostile.html" --quiet
page "$work/hostile.html"

: >"$work/empty.csv"
echo 'kernel,type,m,n,k,gflops' >"$work/heading.csv"
echo 'a,b' >"$work/other.csv"
echo '1,2' >>"$work/other.csv"
printf '{"benchmarks": [{"kernel": ' >"$work/cut.json"
echo keep >"$work/kept.html"
fails 1 'no rows\|no row\|empty\|heading' "$tessera" report "$work/empty.csv" -o "$work/kept.html"
fails 1 'holds no rows' "$tessera" report "$work/heading.csv" -o "$work/kept.html"
fails 1 "has no column 'kernel'" "$tessera" report "$work/other.csv" -o "$work/kept.html"
fails 1 'cut.json' "$tessera" report "$work/cut.json" -o "$work/kept.html"
fails 1 'No such file' "$tessera" report "$work/absent.csv" -o "$work/kept.html"
mkdir "$work/none"
fails 1 'holds no file of rates' "$tessera" report "$work/none" -o "$work/kept.html"
try "a report that fails leaves the file as it was" grep -q -x keep "$work/kept.html"
fails 2 'No such file' "$tessera" report $results -o "$work/nowhere/report.html"
fails 2 'directory' "$tessera" report $results -o "$work/none"
fails 2 'did you mean' "$tessera" report $results --gpu H2000 -o "$work/x.html"
fails 2 'fresh runs' "$tessera" report $results --quick
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w "$work/none"
    fails 2 'Permission denied' "$tessera" report $results -o "$work/none/report.html"
fi
if [ -w /dev/full ]; then fails 1 'No space left' "$tessera" report $results -o /dev/full; fi

# ---- Fresh runs ----

(cd "$work" && TESSERA_DEVICE=cpu "$tessera" report --quick --quiet) >"$work/log" 2>&1
try "a quick report without files is written to report.html" test -s "$work/report.html"
page "$work/report.html"
for words in 'no rate of a GPU on this page was measured' 'class="badge predicted"' 'class="badge simulated"' \
    'class="badge measured"' '<section id="ladder-cpu">' '<section id="roofline">' 'id="environment"' \
    'Copies and arithmetic of one call (needs a GPU): tessera bench'; do
    grep -q "$words" "$work/report.html" || echo "$words"
done >"$work/absent"
none "a report without a GPU does not say all it should" "$work/absent"

# A picture is made without what it does not show.
for figure in roofline tile types; do
    try "--chart $figure without files" "$tessera" report --device cpu --quick --quiet --svg "$work/$figure.svg" --chart $figure
    try "$figure.svg says that it is no measurement" grep -q 'predicted' "$work/$figure.svg"
done

# interrupt STATUS SIGNAL: while it measures. No file, and nothing beside it or where it keeps what it has measured.
interrupt() {
    rm -rf "$work/there"
    mkdir -p "$work/there/scratch"
    (cd "$work/there" && TMPDIR=$work/there/scratch TESSERA_DEVICE=cpu exec "$tessera" report --quiet -o page.html) >"$work/log" 2>&1 &
    child=$!
    sleep 1
    kill -"$2" $child
    wait $child
    status=$?
    try "a report ends with $1 after SIG$2 (it was $status)" test $status -eq "$1"
    find "$work/there" -type f >"$work/left"
    none "a report leaves files after SIG$2" "$work/left"
}
interrupt 130 INT
if sh -c 'kill -HUP $$; echo deaf' 2>/dev/null | grep -q deaf; then skip 'hangups are ignored here'; else interrupt 129 HUP; fi
(trap '' HUP && exec "$tessera" bench 1 --device cpu --sizes 64:70:1 --peer none --samples 3) >"$work/log" 2>&1 &
child=$!
sleep 0.1
kill -HUP $child
try "SIGHUP is ignored where nohup has it so" wait $child

finish report
