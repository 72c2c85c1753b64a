#!/bin/sh
# cli.sh BUILD_DIR: the manners of the command: help, suggestions, exit codes, formats, files, signals.
#
# A test prints only when it fails: its name, the command, what was expected and what came. The last line
# counts them.
set -u

build=${1:?usage: sh tests/cli.sh BUILD_DIR}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tessera=$build/tessera
kernels=$(cd "$(dirname "$0")/../kernels" && pwd) || exit 1
if [ ! -x "$tessera" ]; then
    echo "there is no $tessera; run make first"
    echo 'cli: 0 passed, 1 failed'
    exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
cd "$scratch" || exit 1
unset TESSERA_PEER TESSERA_VERBOSE TESSERA_LIBRARY_PATH TESSERA_KERNEL_DIR NO_COLOR
# The same tests on every machine: what is said of a GPU is tested by name.
TESSERA_DEVICE=cpu
TESSERA_CACHE_DIR=$scratch/cache
export TESSERA_DEVICE TESSERA_CACHE_DIR

passed=0
failed=0
skipped=0
ran=

pass() { passed=$((passed + 1)); }
fail() { # name, expected, got
    failed=$((failed + 1))
    printf 'FAILED  %s\n  command   %s\n  expected  %s\n  got       %s\n' "$1" "$ran" "$2" "$3"
}
# Runs the command; what it did is in $status, out and err.
run() {
    ran="tessera $*"
    "$tessera" "$@" > out 2> err < /dev/null
    status=$?
}
expect_status() { # name, status
    if [ "$status" -eq "$2" ]; then pass; else fail "$1" "exit $2" "exit $status: $(head -3 err)"; fi
}
expect_text() { # name, file, a text it contains
    if grep -qF -e "$3" "$2"; then pass; else fail "$1" "'$3' in $2" "$(head -3 "$2")"; fi
}
expect_empty() { # name, file
    if [ ! -s "$2" ]; then pass; else fail "$1" "nothing in $2" "$(head -3 "$2")"; fi
}
expect_same() { # name, expected, got
    if [ "$2" = "$3" ]; then pass; else fail "$1" "$2" "$3"; fi
}
# A bad command line: a sentence that begins with the program's name, no output, exit 2 (or as given).
refuse() { # name, text, status, arguments...
    title=$1 text=$2 wanted=$3
    shift 3
    run "$@"
    expect_status "$title" "$wanted"
    expect_text "$title" err "tessera: "
    expect_text "$title" err "$text"
    expect_empty "$title" out
}
quick="--samples 3 --min-time 0.01 --quiet"

help_is_there() {
    run
    expect_status 'no words: succeeds' 0
    for word in devices list bench compare verify cache; do expect_text 'no words: names the commands' out "$word"; done
    for line in --help help; do
        run $line
        expect_status "$line" 0
        expect_text "$line" out 'Exit status'
    done
    for command in devices list bench compare verify cache; do
        run $command --help
        expect_status "help of $command" 0
        expect_text "help of $command" out 'Options'
        cp out first
        run help $command
        expect_same "help $command and $command --help agree" "$(cat first)" "$(cat out)"
    done
    run --version
    expect_text 'version' out "tessera $(sed -n 's/.*"\([0-9.]*\)"/\1/p' version)"
}

mistakes_get_sentences() {
    refuse 'unknown command' "there is no command 'benhc'; did you mean 'bench'?" 2 benhc
    refuse 'unknown command, nothing near' "'tessera help'" 2 xyzzyplugh
    refuse 'unknown option' "did you mean '--sizes'?" 2 bench --sizs 4
    refuse 'option without its value' '--sizes needs a value' 2 bench --sizes
    refuse 'flag with a value' '--md takes no value' 2 bench --md=1
    refuse 'word too many' 'one word too many' 2 bench 1 128 9
    refuse 'help of nothing' 'there is no command' 2 help nothing
    for sizes in abc 12: 1:2 4:2:1 0:8:x2 1:8:x1 8:9:0 -4 99999999999999999999 ,; do
        refuse "bad sizes $sizes" "'" 2 bench --sizes=$sizes
    done
    for shape in 4 4x5 4x5xx6 4x5x6x0 4x5x6x7x8 4x5x6x1000001 x ax1x1 1x1x99999999999; do
        refuse "bad shape $shape" 'is not a shape' 2 bench --shape $shape
    done
    for type in f33 f32:f64 i8:i8 '' f32, averyverylongnameofatype; do
        refuse "bad type '$type'" 'is no product' 2 bench --type "$type"
    done
    refuse 'bad layout' 'nn, nt, tn, tt' 2 bench --layout xx
    refuse 'bad compute' 'must be one of' 2 bench --compute fast
    refuse 'bad threads' '--threads' 2 bench --threads 0
    refuse 'bad number' '--alpha' 2 bench --alpha one
    refuse 'not a number' '--alpha' 2 bench --alpha nan
    refuse 'two outputs on stdout' 'only one of' 2 bench --csv - --json -
    refuse 'directory of the file is missing' 'could not write' 2 bench --csv no/such/dir.csv
    refuse 'a directory is no file' 'is a directory' 2 bench --csv .
    refuse 'shapes file is missing' 'could not open' 2 bench --shapes nowhere
    refuse 'shapes that come with it are named' 'skinny, deep-k' 2 bench --shapes nowhere
    refuse 'append to nothing' '--append needs a file' 2 bench --append
    refuse 'most time below the least' 'less than' 2 bench --min-time 1 --max-time 0.5
    refuse 'no repeats' '--repeat is' 2 bench --repeat 0
    refuse 'size and sizes' 'exclude each other' 2 bench 1 128 --sizes 4
    refuse 'misspelt peer' "did you mean 'openblas'?" 2 bench --peer opnblas
    refuse 'unknown peer' 'path of a library' 2 bench --peer qqqqqq
    refuse 'peer is no library' 'could not be opened' 1 bench --peer ./nothing.so
    refuse 'unknown device' 'nonsense' 1 bench --device nonsense
    for tile in x 0 16, 16,,32 2000 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17; do
        refuse "bad tile '$tile'" '--tile is' 2 bench --tile "$tile"
    done
    refuse 'tile twice' 'exclude each other' 2 bench --tile 16 --params KC=8,TILE=32
    for sweep in KC KC= =8 KC=8: KC=8,,16 KC=x KC=8:KC=16; do
        refuse "bad sweep '$sweep'" '--sweep is' 2 bench 3 --sweep "$sweep"
    done
    refuse 'a sweep of what is not there' 'no such parameter' 2 bench 3 --sweep KC=8:QC=3
    refuse 'a sweep and a tile' 'exclude each other' 2 bench 3 --sweep KC=8 --tile 16
    refuse 'bad mode' 'burst, continuous, sustained' 2 bench --mode idle
    refuse 'transfers on a cpu' 'computes in host memory' 2 bench --transfers
    refuse 'verify: transfers on a cpu' 'computes in host memory' 2 verify --transfers
    refuse 'product larger than memory' "this machine's memory" 1 bench 1 --shape 1000000000x1000000000x1 --quiet
}

nothing_matched_is_exit_1() {
    refuse 'list: no match' "no kernel matches" 1 list 'zzz*'
    run list --device cpu
    cp out all
    name=$(awk 'NR == 2 { print $2 }' all)
    refuse 'list: near miss' "did you mean $name?" 1 list "${name}x"
    refuse 'bench: no such number' 'there is no kernel number 999' 1 bench 999
    refuse 'verify: no match' "no kernel matches 'zzz' of the cpu" 1 verify zzz
    refuse 'list: no such device' "there is no kernel of device 'tpu'" 1 list --device tpu
    run list "$name"
    expect_status 'list: one kernel' 0
    expect_same 'list: one kernel, two lines' 2 "$(wc -l < out | tr -d ' ')"
    run list --long "$name"
    expect_text 'list --long' out 'types'
}

formats_are_what_they_say() {
    columns='schema,kernel,params,device,threads,type,compute,m,n,k,batch,layout,lda,ldb,ldc,alpha,beta,cache,samples,time_ms,p10_ms,p90_ms,noise_pct,call_ms,h2d_ms,d2h_ms,gflops,pct_peak,peer,peer_ms,peer_gflops,ratio,rel_error,max_error,verified,clock_mhz,power_w,throttled,workspace_bytes,mode,gbytes_s,pct_bandwidth,interval_pct,cpu_ms,repeat'
    run bench 1 --sizes 8,16 --type f32,i8 --peer none $quick --csv -
    expect_status 'csv: succeeds' 0
    expect_same 'csv: header' "$columns" "$(head -1 out)"
    expect_same 'csv: a row per type and size' 5 "$(wc -l < out | tr -d ' ')"
    expect_same 'csv: every row has every field' 45 "$(awk -F, '{ print NF }' out | sort -u)"
    expect_empty 'csv: quiet on stderr' err
    for command in 'devices' 'list' "bench 1 --shape 3x5x7 --peer none $quick" 'verify 1 --shape 3x4x5'; do
        # Words, not one argument: the options of the command are meant to be split.
        run $command --json -
        expect_status "json of $command" 0
        if python3 -c '' 2> /dev/null; then
            if python3 -m json.tool out > /dev/null 2> err; then pass; else fail "json of $command" 'valid JSON' "$(cat err)"; fi
        else
            skipped=$((skipped + 1))
        fi
        run $command --csv -
        expect_same "csv of $command: as many fields in all rows" 1 \
            "$(sed 's/"[^"]*"/q/g' out | awk -F, '{ print NF }' | sort -u | wc -l | tr -d ' ')"
        run $command --md
        expect_same "markdown of $command" '| ' "$(head -c 2 out)"
    done
    run bench 1 --sizes 8 --peer none $quick --json -
    for field in '"context"' '"benchmarks"' '"real_time"' '"time_unit": "ms"' '"revision"'; do
        expect_text 'json: Google Benchmark' out "$field"
    done
    run bench 1 --sizes 8 --peer none $quick
    if grep -q "$(printf '\033')" out err; then fail 'a pipe gets no escape codes' none some; else pass; fi
    if script -qec true /dev/null > /dev/null 2>&1; then
        ran='NO_COLOR=1 tessera verify 1 --shape 2x2x2 --type f32, on a terminal'
        NO_COLOR=1 TERM=xterm script -qec "$tessera verify 1 --shape 2x2x2 --type f32" /dev/null > out 2>&1 < /dev/null
        if grep -q "$(printf '\033')\\[[0-9;]*m" out; then fail 'NO_COLOR' 'no colours' "$(cat out)"; else pass; fi
    else
        skipped=$((skipped + 1))
    fi
}

files_are_whole_or_untouched() {
    echo precious > kept
    run bench 1 --sizes zero --csv kept
    expect_same 'a usage error leaves the file' precious "$(cat kept)"
    run bench 1 --sizes 8 --params NOSUCH=1 --peer none --csv kept
    expect_status 'nothing measured is exit 1' 1
    expect_same 'nothing measured leaves the file' precious "$(cat kept)"
    ln -s kept link
    run bench 1 --sizes 8 --peer none $quick --csv link --json results.json
    expect_status 'two files at once' 0
    expect_text 'a link is followed' kept 'schema,'
    expect_text 'json file' results.json '"benchmarks"'
    expect_text 'the table is still shown' out 'GFLOPS'
    printf '# shapes\n3x5x7\n\n 8 # a size\n' > shapes
    run bench 1 --shapes shapes --peer none $quick --csv -
    expect_same 'a file of shapes' 3 "$(wc -l < out | tr -d ' ')"
    printf '3x5x7\n3x5\n' > shapes
    refuse 'a bad line is named' 'line 2 of shapes' 2 bench --shapes shapes
    run list --csv /dev/full
    expect_status 'a full disk is exit 1' 1
    expect_text 'a full disk is said' err 'could not write'
}

files_say_where_they_are_from() {
    run bench 1 --sizes 8 --peer none --type f32 $quick --csv env.csv --json env.json
    for fact in date model revision os method command data; do
        expect_text "csv: $fact" env.csv "# $fact: "
        expect_text "json: $fact" env.json "\"$fact\": "
    done
    expect_text 'the mode is in the method' env.csv '# method: burst'
    expect_text 'the mode is said' out 'timed in mode burst'
    expect_text 'the command repeats it' env.csv '# command: tessera bench 1 --sizes 8 --peer none --type f32 --samples 3'
    if grep -q 'host_name' env.csv; then fail 'csv: no name of the machine' 'no host_name' "$(grep host_name env.csv)"; else pass; fi
    run bench 1 --sizes 8 --peer none $quick --csv -
    expect_same 'a pipe gets rows alone' 0 "$(grep -c '^#' out)"
}

rows_are_appended() {
    run bench 1 --sizes 8 --peer none $quick --csv add.csv --json add.json --append
    expect_status 'append to no file yet' 0
    cp add.csv before.csv
    run bench 1 --sizes 16,24 --peer none $quick --csv add.csv --json add.json --append
    run bench 2 --sizes 16 --peer none $quick --csv add.csv --json add.json --append
    expect_status 'append' 0
    expect_same 'append: one heading' 1 "$(grep -c '^schema,' add.csv)"
    expect_same 'append: rows' 4 "$(grep -c '^1,' add.csv)"
    expect_same 'append: three environments' 3 "$(grep -c '^# date: ' add.csv)"
    expect_same 'append: the old file stays as it was' "$(cat before.csv)" "$(head -n "$(wc -l < before.csv)" add.csv)"
    expect_same 'append: rows of the JSON' 4 "$(grep -c '"run_name"' add.json)"
    expect_same 'append: environments of the JSON' 3 "$(grep -c '"context' add.json)"
    if python3 -c '' 2> /dev/null; then
        if python3 -m json.tool add.json > /dev/null 2> err; then pass; else fail 'append: valid JSON' 'valid JSON' "$(cat err)"; fi
    else
        skipped=$((skipped + 1))
    fi
    # A file from before the last columns were thought of.
    grep -v '^#' before.csv | cut -d , -f 1-42 > old.csv
    run bench 1 --sizes 16 --peer none $quick --csv old.csv --append
    expect_status 'append to an older file' 0
    expect_same 'append to an older file: every row has every field' 45 "$(grep -v '^#' old.csv | awk -F, '{ print NF }' | sort -u)"
    echo 'a,b' > other.csv
    echo '1,2' >> other.csv
    refuse 'append to other columns' 'its columns are not those' 2 bench 1 --sizes 8 --csv other.csv --append
    expect_same 'append to other columns leaves the file' 'a,b 1,2' "$(paste -s -d ' ' other.csv)"
    refuse 'append CSV to JSON' 'it holds JSON' 2 bench 1 --sizes 8 --csv add.json --append
    refuse 'append JSON to CSV' 'it holds no JSON' 2 bench 1 --sizes 8 --json add.csv --append
    echo '{"benchmarks": [{"m": 1}]}' > tight.json
    refuse 'append to foreign JSON' 'not formatted' 2 bench 1 --sizes 8 --json tight.json --append
}

cases_are_repeated_and_sampled() {
    run bench 1 --sizes 8,16 --peer none --repeat 3 $quick --csv -
    expect_same 'repeat: a row each' '1 1 2 2 3 3' "$(awk -F, 'NR > 1 { print $NF }' out | paste -s -d ' ' -)"
    run bench 1 --sizes 8,16 --peer none --repeat 2 $quick
    expect_text 'repeat: shown' out 'repeat'
    # Precise enough never, so the most time counts; precise enough at once, so the least does. They are far apart
    # as machines may be busy with other things.
    samples() { "$tessera" bench 1 --sizes 32 --peer none --no-verify --quiet --csv - "$@" | awk -F, 'NR == 2 { print $19 }'; }
    long=$(samples --min-time 0.001 --precision 0 --max-time 1)
    short=$(samples --min-time 0.001 --precision 100 --max-time 1)
    ran='tessera bench 1 --sizes 32 --min-time 0.001 --precision 0|100 --max-time 1'
    if [ "$long" -gt $((3 * short)) ]; then pass; else fail 'precision decides how many samples' "more than 3 times $short" "$long"; fi
    ran='tessera bench --shapes NAME'
    for name in square llm skinny deep-k odd batched; do
        "$tessera" bench --shapes $name --kernels nothing > out 2> err
        expect_text "shapes: $name" err 'no kernel matches'
    done
    run bench 1 --shape 4x5x6x7,8x8x8 --peer none $quick --csv -
    expect_same 'a shape with a batch' '7 1' "$(awk -F, 'NR > 1 { print $11 }' out | paste -s -d ' ' -)"
    TESSERA_VERBOSE=1 "$tessera" bench 1 --sizes 8,16,24 --peer none --samples 3 > out 2> err
    expect_text 'progress says how long it will take' err ' s left'
}

interrupts_leave_no_half_file() {
    mkdir stop
    ran='TESSERA_VERBOSE=1 tessera bench 1 --sizes 64:500:1 --csv stop/x.csv; SIGINT after the first row'
    TESSERA_VERBOSE=1 "$tessera" bench 1 --sizes 64:500:1 --peer none --samples 3 --csv stop/x.csv > out 2> err &
    child=$!
    while kill -0 $child 2> /dev/null && ! grep -q '^\[2/' err; do sleep 0.1; done
    kill -INT $child
    wait $child
    status=$?
    expect_status 'SIGINT' 130
    expect_text 'SIGINT is said' err 'interrupted'
    expect_same 'SIGINT leaves only the whole file' x.csv "$(ls stop)"
    expect_same 'SIGINT leaves whole rows' 45 "$(grep -v '^#' stop/x.csv | awk -F, '{ print NF }' | sort -u)"
    expect_text 'SIGINT leaves the environment' stop/x.csv '# command: tessera bench 1 --sizes 64:500:1'
    expect_text 'SIGINT prints what was measured' out 'yes'
}

bench_measures() {
    run bench 1 64 --peer none $quick
    expect_status 'short form' 0
    expect_text 'short form: verified' out 'yes'
    run bench --shape 16x1x16 --peer none $quick
    expect_status 'the whole ladder' 0
    expect_same 'the whole ladder: a row each' "$(($(wc -l < all) - 1))" "$(grep -c ' yes$' out)"
    run bench auto --shape 17x19x23 --layout tn --ld-pad 3 --batch 2 --alpha -2 --beta 3 --type f64,bf16:f32,i8 \
        --threads 1,2 --cold --peer none $quick --csv -
    expect_status 'all options' 0
    expect_same 'all options: verified' 6 "$(grep -c ',yes,' out)"
    run bench auto --sizes 20 --layout ss --ld-pad 3 --type f32,i8 --peer none $quick --csv -
    expect_same 'every second element: verified' 2 "$(grep -c ',ss,43,43,23,.*,yes,' out)"
    run bench 1 --sizes 0,1 --peer none $quick
    expect_status 'empty products' 0
    run bench 1 --sizes 8 --type i32 --alpha 0.5 --peer none --samples 1
    expect_status 'nothing that can be measured is exit 1' 1
    expect_text 'what was left out is said' err 'left out'
    run bench 0 --sizes 32 $quick
    if [ "$status" -ne 0 ]; then # no peer on this machine
        expect_text 'a missing peer is said' err 'to get one'
        skipped=$((skipped + 1))
        return
    fi
    expect_text 'kernel 0 is the peer' out 'yes'
    run bench 1 --sizes 32 --type f32,f64 $quick --csv -
    expect_status 'beside the peer' 0
    expect_same 'beside the peer: a ratio in each row' 2 \
        "$(awk -F, 'NR > 1 && $29 != "" && $31 > 0 && $32 > 0' out | wc -l | tr -d ' ')"
}

bench_compares_with_each_peer() {
    run bench auto --sizes 32 --peer openblas,blis $quick --csv -
    if [ "$status" -ne 0 ]; then # one of them is not on this machine
        skipped=$((skipped + 1))
        return
    fi
    expect_same 'two peers: a row each' 'openblas blis' "$(awk -F, 'NR > 1 { print $29 }' out | xargs)"
    expect_same 'two peers: one run, one time' 1 "$(awk -F, 'NR > 1 { print $20 }' out | sort -u | wc -l | tr -d ' ')"
    expect_same 'two peers: a ratio each' 2 "$(awk -F, 'NR > 1 && $30 > 0 && $32 > 0' out | wc -l | tr -d ' ')"
    # One round: then the median of the ratios is the ratio of the medians.
    run bench auto --sizes 64 --peer openblas,blis --samples 1 --quiet --csv -
    expect_same 'two peers: the ratio is theirs over ours' 2 \
        "$(awk -F, 'NR > 1 { off = $32 * $20 / $30 - 1; if (off < 1e-6 && off > -1e-6) print }' out | wc -l | tr -d ' ')"
}

bench_holds_against_the_machine() {
    run bench auto --shape 64x64x64,1x512x256,512x1x256 --type f32,f64,bf16,i8 --peer none $quick --csv -
    expect_same 'share of the peak: all but integers' 'f32 f64 bf16' \
        "$(awk -F, 'NR > 1 && $28 > 0 { print $6 }' out | uniq | xargs)"
    expect_same 'no share of the peak: integers' 3 "$(awk -F, '$6 == "i8" && $28 == ""' out | wc -l | tr -d ' ')"
    expect_same 'bandwidth: products with a vector' 8 "$(awk -F, 'NR > 1 && $41 > 0 && $42 > 0' out | wc -l | tr -d ' ')"
    expect_same 'bandwidth: no others' 4 "$(awk -F, '$8 == 64 && $41 == "" && $42 == ""' out | wc -l | tr -d ' ')"
    run bench auto --shape 1x512x256 --beta 1 --peer none $quick --csv -
    expect_same 'bandwidth: A, B, and C twice' '(512*256 + 256 + 2*512) * 4 bytes' \
        "$(awk -F, 'NR > 1 { bytes = $41 * 1e6 * $20 / 4 - 512 * 256; if (bytes > 1279 && bytes < 1281) print "(512*256 + 256 + 2*512) * 4 bytes"; else print bytes }' out)"
    run bench auto --sizes 64 --peer none $quick
    expect_text 'the peak is shown' out 'peak'
    expect_same 'the bandwidth is not, without a vector' 0 "$(grep -c 'GB/s' out)"
    run bench auto --shape 64x1x64 --type i8 --peer none $quick
    expect_text 'the bandwidth is shown' out 'GB/s'
    expect_same 'the peak is not, for integers' 0 "$(grep -c 'peak' out)"
    run devices --measure
    expect_status 'devices --measure' 0
    expect_text 'devices --measure' out 'memory GB/s'
    run devices --measure --csv -
    expect_same 'devices --measure: six rates' 1 "$(awk -F, '$1 == "cpu" && $10 > 0 && $11 > 0 && $12 > 0 && $13 > 0 && $14 > 0 && $15 > 0' out | wc -l | tr -d ' ')"
    run devices --csv -
    expect_same 'devices: the same columns' 37 "$(sed 's/"[^"]*"/q/g' out | awk -F, '{ print NF }' | sort -u)"
}

verify_checks() {
    run verify 1 --type f32,i8 --count 4 --max-size 40
    expect_status 'verify' 0
    expect_same 'verify: a row per type' 2 "$(grep -c PASS out)"
    run verify auto --shape 5x6x7 --layout nt --ld-pad 1 --batch 2 --alpha 1 --beta -2 --seed 9 --type f64 --csv -
    expect_text 'a replay is one case' out 'auto,f64,1,0,'
    run verify auto --shape 5x6x7 --layout nt --alpha 1 --count 3 --max-size 20 --type f64 --csv -
    expect_text 'random shapes follow the one asked for' out 'auto,f64,4,0,'
    run verify 1 3 --type f32,i8 --misalign 5 --count 4 --max-size 40 --compute tf32 --csv -
    expect_status 'verify: misaligned' 0
    expect_text 'verify: the mode is for f32' out 'PASS,tf32'
    expect_text 'verify: and for nothing else' out 'PASS,default'
    refuse 'verify: no such mode' '--compute' 2 verify 1 --compute f16
    run bench 1 --sizes 4 --compute f32 --peer none $quick --csv -
    expect_same 'f32 is the mode by default' default "$(awk -F, '$2 == "cpu_01_naive" { print $7 }' out)"
}

accuracy_is_measured() {
    run verify 1 3 --accuracy --seeds 2 --shape 9x11x1,16x12x700 --peer none --csv -
    expect_status 'verify --accuracy' 0
    expect_same 'accuracy: kinds, integers, exact lines of two kernels' 56 "$(grep -c 'PASS$' out)"
    expect_same 'accuracy: 700 multiply-adds in order have some error' 1 \
        "$(awk -F, '$1 == "cpu_01_naive" && $2 == "normal" && $5 == 700 { print ($8 > 1e-7 && $8 < 1e-6) }' out)"
    expect_same 'accuracy: infinities and NaN are placed' 10 "$(grep -c -E '^[a-z0-9_]+,(one|inf).*,0,,PASS$' out)"
    run verify auto --accuracy --seeds 1 --shape 8x8x70 --seed 3
    expect_status 'accuracy: a table' 0
    expect_text 'accuracy: a table' out 'Frobenius'
    refuse 'accuracy: no such peer' 'cannot be used' 1 verify 1 --accuracy --peer atlas --shape 4x4x4
    refuse 'accuracy: of f32 alone' 'measures products of f32' 2 verify 1 --accuracy --type f64
    refuse 'peer without accuracy' 'for --accuracy' 2 verify 1 --peer none
    refuse 'accuracy: no seeds' '--seeds' 2 verify 1 --accuracy --seeds 0
}

cache_is_shown_and_cleared() {
    export TESSERA_CACHE_DIR="$scratch/cache"
    entry=$TESSERA_CACHE_DIR/simt_05_shared-0123456789abcdef0123456789abcdef.cubin
    run cache
    expect_status 'cache' 0
    expect_text 'cache: where it is' out "directory  $TESSERA_CACHE_DIR"
    expect_text 'cache: empty' out 'entries    0'
    echo 'an entry' > "$entry"
    echo 'a note' > "$TESSERA_CACHE_DIR/note"
    run cache
    expect_text 'cache: counts' out 'entries    1'
    chmod 0666 "$entry"
    run cache
    expect_status 'cache: a problem is no failure' 0
    expect_text 'cache: a problem is shown' out 'problem    simt_05_shared-'
    run cache clear
    expect_status 'cache clear' 0
    expect_text 'cache clear' out 'removed 1 entry'
    expect_same 'cache clear: leaves what is not its own' note "$(ls "$TESSERA_CACHE_DIR")"
    chmod 0777 "$TESSERA_CACHE_DIR"
    refuse 'cache clear: not in a directory of others' 'can be written by others' 1 cache clear
    refuse 'cache: an unknown word' "'clean' is nothing" 2 cache clean
    refuse 'cache: two words' 'cache' 2 cache clear clear
    TESSERA_CACHE_DIR=/dev/null/none
    run cache
    expect_status 'cache: no directory' 0
    expect_text 'cache: no directory' out 'problem    it cannot be opened or made'
    unset TESSERA_CACHE_DIR
}

bench_times_in_every_mode() {
    for mode in burst continuous; do
        run bench 3 --sizes 16 --mode $mode --peer none $quick --csv -
        expect_same "mode $mode" $mode "$(awk -F, 'NR > 1 { print $40 }' out)"
    done
    run bench 3 --sizes 16 --mode sustained --peer none --samples 1 --quiet --csv -
    expect_same 'mode sustained' sustained "$(awk -F, 'NR > 1 { print $40 }' out)"
    # A cpu has no tile to sweep: each kernel runs once.
    run bench 3 --sizes 16 --tile 16,32 --peer none $quick --csv -
    expect_same 'a sweep of nothing is one row' 2 "$(wc -l < out | tr -d ' ')"
    run bench 3 --sizes 16,24 --sweep KC=8,16:MC=16,32 --peer none $quick --csv -
    expect_same 'a sweep has all combinations' '"KC=16,MC=16" "KC=16,MC=32" "KC=8,MC=16" "KC=8,MC=32"' \
        "$(sed -n 's/.*\("KC[^"]*"\).*,16,16,16,.*/\1/p' out | sort | xargs -n 1 printf '"%s" ' | sed 's/ $//')"
    expect_same 'a sweep has the fastest of each shape first' 0 "$(sed 's/"[^"]*"/q/' out |
        awk -F, 'NR > 1 { if ($8 == shape && $20 < last) wrong++; shape = $8; last = $20 } END { print wrong + 0 }')"
}

gpu_kernels_are_listed() {
    run list --device cuda
    expect_status 'list of a GPU' 0
    for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        expect_same "list of a GPU: rung $number" 1 "$(awk -v n=$number '$1 == n && $2 ~ /^simt_/' out | wc -l | tr -d ' ')"
    done
    for name in cublas cublaslt vector_01_shuffle; do expect_text 'list of a GPU' out "$name"; done
    run list --long --device cuda:0 12
    expect_text 'list --long: what it needs' out 'sm_80'
    run list --device sim --csv -
    expect_text 'a simulator runs the kernels of a GPU' out 'simt_01_uncoalesced'
}

# Whatever this machine has, nothing is found where there is nothing.
missing_gpu_is_a_sentence() {
    mkdir -p nothing
    TESSERA_LIBRARY_PATH=$scratch/nothing
    export TESSERA_LIBRARY_PATH
    refuse 'bench without a GPU' "there is no device 'cuda'" 1 bench 1 --device cuda --sizes 8
    expect_text 'bench without a GPU: what is missing' err 'libcuda.so.1'
    refuse 'verify without a GPU' "there is no device 'cuda'" 1 verify 1 --device cuda
    run
    expect_text 'no words: why there is no GPU' out 'libcuda.so.1'
    run devices --verbose
    expect_status 'devices without a GPU' 0
    for name in 'CUDA driver' NVRTC NVML cuBLAS cuBLASLt; do expect_text 'devices: each library is named' out "$name"; done
    expect_text 'devices --verbose: each file tried' out "tried $scratch/nothing/libcuda.so.1"
    run devices --hierarchy --csv -
    expect_status 'hierarchy without a GPU' 0
    expect_text 'hierarchy without a GPU is said' err 'no GPU here'
    expect_same 'hierarchy: documents only' 'from documents' "$(awk -F, 'NR > 1 { print $2 }' out | sort -u)"
    for card in 'Tesla P100' 'GTX 1650'; do expect_text 'hierarchy: the cards of the documents' out "$card"; done
    TESSERA_DEVICE=auto run bench auto --sizes 8 --peer none $quick --csv -
    expect_same 'auto falls back to the cpu' cpu "$(awk -F, 'NR > 1 { print $4 }' out)"
    unset TESSERA_LIBRARY_PATH
}

# A device with memory of its own, whichever is named; enough of every option to have run it once.
device_works() { # device
    run bench 5 --device "$1" --sizes 20 --tile 4,8 --type f32,i32 --peer none $quick --csv -
    expect_status "$1: bench" 0
    expect_same "$1: a row for each tile and type" 'TILE=4 TILE=8 TILE=4 TILE=8' "$(awk -F, 'NR > 1 { print $3 }' out | xargs)"
    expect_same "$1: verified" 4 "$(grep -c ',yes,' out)"
    expect_same "$1: continuous is the default" continuous "$(awk -F, 'NR > 1 { print $(NF - 5) }' out | sort -u)"
    run bench 2 --device "$1" --sizes 20 --tile 4 --peer none $quick --csv -
    expect_text "$1: BX and BY are a tile too" out '"BX=4,BY=4"'
    run bench 2 --device "$1" --sizes 20 --sweep BX=4,64:BY=4,64 --peer none --samples 1 --csv -
    expect_same "$1: a sweep has a row for each combination that the kernel takes" 3 "$(grep -c '"BX=' out)"
    expect_text "$1: and says how many it does not" err '1 of 4 combinations are left out'
    run bench 5 --device "$1" --sizes 20 --tile 4 --transfers --layout tn --ld-pad 3 --beta 2 --peer none $quick --csv -
    expect_status "$1: transfers" 0
    expect_same "$1: transfers: the copies have columns" 1 "$(sed 's/"[^"]*"/q/g' out | awk -F, 'NR > 1 && $25 != "" && $26 != ""' | wc -l | tr -d ' ')"
    refuse "$1: threads" 'is no CPU' 2 bench 5 --device "$1" --threads 2
    refuse "$1: cold transfers" 'exclude each other' 2 bench 5 --device "$1" --cold --transfers
    refuse "$1: a host's peer" 'there is no peer' 2 bench 5 --device "$1" --peer openblas
    run verify 2 5 --device "$1" --shape 5x6x7,9x1x4 --type f32,i32
    expect_status "$1: verify" 0
    expect_same "$1: verify: a row per kernel and type" 4 "$(grep -c PASS out)"
    run verify auto --device "$1" --transfers --shape 5x6x7 --type f64 --layout nt --batch 2
    expect_status "$1: verify --transfers" 0
}

# A kernel that does not compile is no kernel that refuses: nothing must pass.
broken_kernel_fails() { # device
    rm -rf broken
    cp -r "$kernels" broken
    echo '#error broken' >> broken/simt_05_shared.cu
    TESSERA_KERNEL_DIR=$scratch/broken
    export TESSERA_KERNEL_DIR
    run verify 5 --device "$1" --shape 5x6x7 --type f32
    expect_status "$1: verify of a broken kernel" 1
    expect_text "$1: verify of a broken kernel: the compiler's words" err '#error'
    run bench --kernels simt_02_coalesced,simt_05_shared --device "$1" --sizes 8 --peer none $quick
    expect_status "$1: bench of a broken kernel" 1
    expect_text "$1: bench of a broken kernel: said" err 'simt_05_shared cannot be run'
    expect_text "$1: bench of a broken kernel: others go on" out 'simt_02_coalesced'
    unset TESSERA_KERNEL_DIR
}

gpu_works_end_to_end() {
    if [ ! -e "$build/tests/standin/libcuda.so.1" ]; then
        skipped=$((skipped + 1))
        return
    fi
    TESSERA_LIBRARY_PATH=$build/tests/standin
    export TESSERA_LIBRARY_PATH
    device_works cuda:0
    broken_kernel_fails cuda:0
    run devices --csv -
    expect_text 'a GPU is among the devices' out 'cuda:0'
    run devices
    for fact in 'compute capability' multiprocessors registers 'shared memory' 'block, grid'; do
        expect_text 'devices: facts of a GPU' out "$fact"
    done
    run bench 5 --device cuda --sizes 8 --peer none $quick --json -
    for field in '"compute_capability"' '"driver_cuda"' '"nvrtc"' '"libraries"'; do expect_text 'json of a GPU' out "$field"; done
    run bench 5 --device cuda --sizes 8 --peer none --samples 3 --csv -
    expect_text 'throttling is marked' out '"power cap, heat"'
    expect_text 'throttling is said' err 'clocks were held back in 1 case (power cap, heat)'
    if [ -e "$build/tests/standin/libcublas.so.13" ]; then gpu_peers_are_kernels; else skipped=$((skipped + 1)); fi
    unset TESSERA_LIBRARY_PATH
}

gpu_peers_are_kernels() {
    run bench 5 --device cuda --sizes 8 --type f32,f64 $quick --csv -
    expect_same 'a GPU is compared with cublas' 2 "$(awk -F, '$29 == "cublas" && $30 > 0 && $32 > 0' out | wc -l | tr -d ' ')"
    run bench 5 --device cuda --sizes 8 --type i32 --peer cublas $quick --csv -
    expect_same 'what cublas does not take is not compared' ,,, "$(awk -F, 'NR > 1 { print $29 "," $30 "," $31 "," $32 }' out)"
    run bench 0 --device cuda --sizes 8 $quick --csv -
    expect_same 'kernel 0 of a GPU is cublas' cublas "$(awk -F, 'NR > 1 { print $2 }' out)"
    run verify cublas --device cuda --shape 5x6x7 --type f32
    expect_status 'cublas can be verified' 0
    run bench 5 --device cuda --sizes 8 --compute tf32 --peer cublas $quick --csv -
    expect_same 'the compute mode is in the row' tf32 "$(awk -F, 'NR > 1 { print $7 }' out)"
    if [ ! -e "$build/tests/standin/libcublasLt.so.13" ]; then
        refuse 'a peer that is missing' 'cuBLASLt' 1 bench 5 --device cuda --sizes 8 --peer cublaslt
    fi
}

echo "tessera \"$("$tessera" --version | awk '{ print $2 }')\"" > version
help_is_there
mistakes_get_sentences
nothing_matched_is_exit_1
formats_are_what_they_say
files_are_whole_or_untouched
interrupts_leave_no_half_file
files_say_where_they_are_from
rows_are_appended
cases_are_repeated_and_sampled
bench_measures
bench_compares_with_each_peer
bench_holds_against_the_machine
verify_checks
accuracy_is_measured
cache_is_shown_and_cleared
bench_times_in_every_mode
gpu_kernels_are_listed
missing_gpu_is_a_sentence
device_works sim
broken_kernel_fails sim
gpu_works_end_to_end

if [ "$skipped" -gt 0 ]; then
    echo "cli: $passed passed, $failed failed, $skipped skipped"
else
    echo "cli: $passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
