#!/bin/sh
# tests/outputs.sh BUILD_DIR: what a file of results may be named and hold: no input is written over, standard output by any of
# its names keeps what others wrote, and files come back as they were written, with the figures of one product.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
tessera=$(cd "${1:?usage: sh tests/outputs.sh BUILD_DIR}" && pwd)/tessera
cd "$work" || exit

# run STATUS WHAT ARGUMENT...: what it wrote is in out and err.
run() {
    wanted=$1 what=$2
    shift 2
    "$tessera" "$@" >out 2>err </dev/null
    status=$?
    if [ $status = "$wanted" ]; then pass
    else fail "$what: exit $status, expected $wanted: tessera $*; $(head -n 3 err)"; fi
}
says() { if grep -qF -e "$2" err; then pass; else fail "$1: '$2' is not said: $(head -n 3 err)"; fi; }
measure() { run 0 "$1" bench auto --device cpu --sizes 16,32 --samples 2 --peer none --no-verify --quiet --csv "$2"; }

# ---- Inputs stay ----

measure 'two files' old.csv
cp old.csv kept.csv
cp old.csv new.csv
run 2 'a report over its input' report old.csv -o old.csv
says 'a report over its input' "which is the input 'old.csv'"
run 2 'a picture over its input' report new.csv --svg ./new.csv --chart rates
run 2 'a comparison over its first input' compare old.csv new.csv --csv old.csv
ln -s old.csv link.csv
run 2 'a comparison over its second input' compare new.csv link.csv --json old.csv
run 2 'a prediction over what was measured' explain --measured old.csv --csv link.csv
same 'the inputs are as they were' kept.csv old.csv

# ---- Names ----

echo begun >begun.txt
"$tessera" list 3 --csv /dev/stdout >>begun.txt 2>err
try '/dev/stdout keeps what was there' grep -q '^begun$' begun.txt
try '/dev/stdout has the rows' grep -q simt_03_unrolled begun.txt
"$tessera" list 3 --csv /dev/fd/3 3>>begun.txt >out 2>err
try '/dev/fd/3 keeps what was there' grep -q '^begun$' begun.txt
try '/dev/fd/3 has the rows' [ "$(grep -c simt_03_unrolled begun.txt)" = 2 ]
if [ -w /dev/shm ]; then
    echo before >"/dev/shm/tessera-$$.csv"
    run 0 'a file under /dev' list 3 --csv "/dev/shm/tessera-$$.csv"
    try 'a file under /dev is a file' [ "$(head -n 1 "/dev/shm/tessera-$$.csv" | cut -c1-6)" = number ]
    rm -f "/dev/shm/tessera-$$.csv"
fi
run 2 'one file for two' list --csv both.txt --json both.txt
says 'one file for two' 'give each a file of its own'
long=$(printf '%0250d' 0)
run 0 'a long name' list --csv "$long.csv"
try 'a long name is written' [ -s "$long.csv" ]
run 2 'a name that is too long' bench auto --device cpu --sizes 16 --csv "$long-$long.csv"
run 2 'a name that ends with a slash' bench auto --device cpu --sizes 16 --csv x.csv/
ln -s nothing.csv loose.csv
run 2 'a link that leads nowhere' list --csv loose.csv
try 'a link that leads nowhere stays' [ -L loose.csv ]
chmod 600 new.csv
run 0 'a private file' list --csv new.csv
try 'a private file stays private' [ "$(ls -l new.csv | cut -c1-10)" = '-rw-------' ]
# As a user who may not do everything.
weak() {
    if [ "$(id -u)" -ne 0 ]; then "$tessera" "$@"
    else setpriv --reuid=65534 --regid=65534 --clear-groups "$tessera" "$@"; fi >/dev/null 2>err </dev/null
    status=$?
}
weak --version
if [ $status = 0 ]; then
    mkdir open shut
    cp kept.csv open/kept.csv
    cp kept.csv shut/kept.csv
    ln -s ../shut/kept.csv open/link.csv
    chmod 711 .
    chmod 444 open/kept.csv
    chmod 777 open
    chmod 666 shut/kept.csv
    chmod 555 shut
    for file in kept link; do
        weak bench auto --device cpu --sizes 16 --csv open/$file.csv
        try "$file.csv, which may not be replaced, is refused before anything is measured" test $status -eq 2
        says "$file.csv, which may not be replaced" "--csv could not write 'open/$file.csv': Permission denied"
        same "$file.csv, which may not be replaced, is as it was" kept.csv open/$file.csv
    done
else skip 'files without permission: cannot become another user'; fi
run 1 'a full disk' list 3 --csv /dev/full
if [ -e /dev/full ]; then
    for words in list 'list --long' 'list --csv -' devices 'devices --md' 'verify 1 --device cpu --type f32 --shape 2x2x2' help; do
        # shellcheck disable=SC2086
        "$tessera" $words >/dev/full 2>err
        try "$words: a full disk is an error" test $? -eq 1
        says "$words: a full disk is named" 'could not write to standard output: No space left on device'
    done
fi
mkdir limited
cp kept.csv limited/x.csv
(ulimit -f 1 && exec "$tessera" list --csv limited/x.csv >/dev/null 2>err)
try 'beyond the limit on file sizes' test $? -eq 1
says 'beyond the limit on file sizes' "could not write 'limited/x.csv': File too large"
same 'beyond the limit on file sizes' kept.csv limited/x.csv
try 'beyond the limit on file sizes nothing is left' [ "$(ls -A limited)" = x.csv ]
# Where memory runs out nothing is known of a kernel: it is not called wrong.
if case $(nm "$tessera" 2>/dev/null) in *__asan* | *__tsan*) true ;; *) false ;; esac then skip 'no memory to check with: sanitizers need much themselves'; else
    limit=5000
    while [ $limit -le 40000 ]; do
        (ulimit -v $limit && exec "$tessera" verify cpu_01_naive --type f32 --threads 1 --shape 64x64x8000 --layout nn --ld-pad 0 --misalign 0 --batch 1 --alpha 1 --beta 1 2>&1)
        limit=$((limit + 1000))
    done >err
    says 'no memory to check with' 'cpu_01_naive cannot be checked: '
    try 'no memory to check with is no wrong result' sh -c '! grep -q "is wrong" err'
fi
"$tessera" list >&- 2>err
says 'standard output is closed' 'could not write to standard output: '
if grep -q 'Success' err; then fail "closed: $(cat err)"; else pass; fi

# ---- What files hold ----

printf '16x16x16\n' >"two
lines.txt"
printf '16x16x16\n' >"it's.txt"
run 0 'a name of two lines' bench auto --device cpu --shapes "two
lines.txt" --samples 2 --peer none --no-verify --quiet --csv two.csv
run 0 'a name of two lines is read back' compare two.csv two.csv --drift 50 --threshold 90
run 0 'a name with a quote' bench auto --device cpu --shapes "it's.txt" --samples 2 --peer none --no-verify --quiet --csv quote.csv
try 'a name with a quote can be pasted' grep -qFe "--shapes 'it'\\''s.txt'" quote.csv
{ printf '\357\273\277'; cat kept.csv; } >mark.csv
run 0 'a mark of the byte order' compare mark.csv kept.csv
cut -d, -f1-40 kept.csv | awk '{ printf "%s\r\n", $0 }' >returns.csv
run 0 'lines that end with returns' bench auto --device cpu --sizes 16,32 --samples 2 --peer none --no-verify --quiet --csv returns.csv --append
if grep -q "$(printf '\r')" returns.csv; then fail 'returns are left'; else pass; fi
run 0 'they are the same cases' compare returns.csv kept.csv --drift 50 --threshold 90
try 'and no others' [ "$(grep -c 'only' out)" = 0 ]
name=$(printf '%0200d' 0)
awk -F, -v OFS=, -v name="$name" '/^#|^schema/ { print; next } !n++ { $2 = name "A"; print; $2 = name "B"; print }' kept.csv >long.csv
run 0 'long names that differ at their ends' compare long.csv long.csv --csv -
try 'long names are two cases' [ "$(grep -c "^$name" out)" = 2 ]

{ grep -v '^1,' kept.csv; grep '^1,' kept.csv | head -n 1 | sed "s/^1,[^,]*,/1,$(printf '\377a\303\244'),/"; } >bytes.csv
run 0 'bytes that are no letters' compare bytes.csv bytes.csv --json -
try 'bytes that are no letters are marked' grep -qF 'kernel": "\ufffda'"$(printf '\303\244')"'"' out
run 2 "a GPU's peer" bench auto --device cpu --sizes 8 --peer cublas
says "a GPU's peer" 'multiplies on a GPU'

# ---- Figures ----

# A sample of so small a product is hundreds of them, and takes a millisecond.
run 0 'a small product' bench auto --device cpu --sizes 16 --threads 1 --peer none --no-verify --quiet --csv small.csv
awk -F, '/^#/ { next } $1 == "schema" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { time = $at["time_ms"]; cpu = $at["cpu_ms"]; rate = 2 * 16 ^ 3 / time * 1e-6 / $at["gflops"] }
    !(time > 0 && time < 0.3) { print "16x16x16 takes " time " ms" }
    !(cpu < 20 * time) { print "of " time " ms a CPU has worked " cpu }
    !(rate > 0.99 && rate < 1.01) { print time " ms and " $at["gflops"] " GFLOPS" }' small.csv >bad
none 'the figures of one product' bad
blas=${tessera%/*}/libtessera-blas.so
if [ -e "$blas" ] && ! nm -D "$blas" 2>/dev/null | grep -q '__asan\|__tsan'; then
    run 0 "a batch beside a BLAS's loop" bench auto --device cpu --shape 9x8x7 --batch 3 --samples 2 --peer "$blas" --quiet
fi

# ---- Files that are checked ----

run 1 'a file that is not there' verify 3 --device sim --file nothing.cu --type f32 --shape 3x3x3
says 'a file that is not there' "could not read the kernel's file 'nothing.cu': No such file or directory"
run 1 'a file that is not there, and a CPU' verify --device cpu --file nothing
says 'a file that is not there, and a CPU' "could not read the kernel's file 'nothing': No such file or directory"
run 1 'a directory for a file' verify --device sim --file .
says 'a directory for a file' "could not read the kernel's file '.': it is no regular file"
mkdir pipes
mkfifo pipes/simt_01_uncoalesced.cu
timeout 60 "$tessera" verify --device sim --file pipes/simt_01_uncoalesced.cu >out 2>err
try 'a pipe for a file' test $? -eq 1
says 'a pipe for a file' "could not read the kernel's file 'pipes/simt_01_uncoalesced.cu': it is no regular file"
TESSERA_KERNEL_DIR=pipes timeout 60 "$tessera" verify simt_01_uncoalesced --device sim --type f32 --shape 3x3x3 >out 2>err
try 'a pipe among kernels' test $? -eq 1
says 'a pipe among kernels' 'not a regular file'
echo 'no kernel' >some.cu
run 2 'a file and a CPU' verify --device cpu --file some.cu
says 'a file and a CPU' '--file is a kernel for a GPU, but the device is cpu; give --device cuda, or --device sim'
timeout 60 "$tessera" bench 1 --device cpu --shapes /dev/zero >out 2>err
try 'a shapes file without an end' test $? -eq 2
says 'a shapes file without an end' "the shapes file '/dev/zero' is no text, or has a line of more than 65535 characters"
TESSERA_KERNEL_DIR=/nowhere "$tessera" verify 1 --device sim --type f32 --shape 3x3x3 >out 2>err
says 'a wrong directory of kernels' 'TESSERA_KERNEL_DIR says to look there'

finish outputs
