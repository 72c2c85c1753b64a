#!/bin/sh
# tests/docs.sh [BUILD]: the documents say what is so, and the sources keep the rules of the house that a
# machine can check: links and paths lead somewhere, environment variables and commands are documented and
# exist, files stay short, nothing is left half-done, includes run one way, and no files call each other in a circle.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${BUILD:-build}

documents() { find README.md CONTRIBUTING.md CHANGELOG.md docs -name '*.md' -o -name '*.1' 2>/dev/null | sort; }
sources() {
    [ $# -gt 0 ] || set -- include src blas cli kernels tests examples
    for dir; do [ ! -d "$dir" ] || find "$dir" -name '*.[ch]' -o -name '*.cu' -o -name '*.sh'; done | sort
}

# ---- Documents: where they point ----

# [text](target): files relative to the document, without #anchors; addresses of other sites are not tried.
documents | while read -r doc; do
    grep -o '\](\([^)]*\))' "$doc" | sed 's/^](//; s/)$//; s/#.*//' | grep -v -E '^$|^[a-z]+:' | sort -u |
        while read -r target; do
            [ -e "$(dirname "$doc")/$target" ] || echo "$doc: $target"
        done
done >"$work/links"
none "links lead nowhere" "$work/links"

# `path` in backticks: whatever starts with a directory of ours, or is a file we could have at the top. Patterns
# must match something; paths under build/ are made, not kept.
documents | while read -r doc; do
    # shellcheck disable=SC2016
    grep -o '`[^` ]*`' "$doc" | tr -d '`' | sed 's/[:#][0-9L].*//' |
        grep -E '^(include|src|blas|cli|kernels|tests|examples|scripts|docs|bench)/[A-Za-z0-9_./*-]+$|^(Makefile|setup\.sh|[A-Z]+\.md|\.clang-format|\.ci/run)$' |
        grep -v -E 'NNNN|NAME' | sort -u |
        while read -r path; do
            # shellcheck disable=SC2086
            set -- $path
            [ -e "$1" ] || [ -e "$(dirname "$doc")/$1" ] || echo "$doc: $path"
        done
done >"$work/paths"
none "paths in backticks do not exist" "$work/paths"

# ---- Documents: what they name ----

# A variable of the environment is a string in the sources; header guards and macros are not.
sources src blas cli tests | xargs grep -h -o -E '"TESSERA_[A-Z_]+[A-Z]"' | tr -d '"' | sort -u >"$work/read"
# shellcheck disable=SC2046
grep -h -o -E 'TESSERA_[A-Z_]+[A-Z]' $(documents) | sort -u >"$work/named"
comm -23 "$work/read" "$work/named" >"$work/undocumented"
none "environment variables no document names" "$work/undocumented"
comm -13 "$work/read" "$work/named" >"$work/invented"
none "environment variables that documents name and no source reads" "$work/invented"

# `tessera X` in a document, also inside a block of commands, is a command that help lists.
"$build/tessera" help >"$work/help" 2>&1 || fail "tessera help does not run"
# shellcheck disable=SC2046
{ grep -h -o -E '`tessera [a-z]+' $(documents); grep -h -E '^(\$ )?(build/)?tessera [a-z]+' $(documents); } 2>/dev/null |
    sed -E 's/.*tessera ([a-z]+).*/\1/' | sort -u | while read -r command; do
        grep -q -E "^ +(tessera )?$command( |\$)" "$work/help" || echo "$command"
    done >"$work/commands"
none "commands that documents name and tessera help does not" "$work/commands"

# The manual page has every option and variable of the command's own help, and no other.
man=docs/man/tessera.1
words='--[a-z][a-z0-9-]+|TESSERA_[A-Z_]+'
sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/help" | while read -r command; do
    [ "$command" = help ] || "$build/tessera" help "$command"
done 2>/dev/null | cat "$work/help" - | grep -o -E -e "$words" | sort -u >"$work/help-words"
sed 's/\\-/-/g' $man | grep -o -E -e "$words" | sort -u >"$work/man-words"
same "$man names what tessera help names (< the help, > the page)" "$work/help-words" "$work/man-words"

try "tables and the chart are what make docs writes" sh scripts/docs.sh "$build" check

# In a copy, so that the check is seen to fail: FILE edited by the sed script EDIT.
edited() {
    mkdir -p "$work/copy/bench/results"
    cp -R README.md docs scripts kernels "$work/copy/"
    cp -R bench/model bench/published "$work/copy/bench/"
    cp -R bench/results/h200 "$work/copy/bench/results/"
    sed "$2" "$1" >"$work/copy/$1"
    case $build in /*) there=$build ;; *) there=$PWD/$build ;; esac
    if cmp -s "$1" "$work/copy/$1"; then fail "the edit '$2' changes nothing in $1"
    elif sh "$work/copy/scripts/docs.sh" "$there" check >"$work/said" 2>&1; then fail "$1 was edited ($2), and nobody noticed"
    else pass; fi
}
edited docs/LADDER.md '/^| simt_09_tile2d |/s/ |$/9 |/'
edited docs/MODEL.md '/^| simt_05_shared |/s/ %/9 %/'
edited README.md '/^| simt_12_pipelined |/s/ |$/9 |/'
edited docs/BENCHMARKING.md '/^| f32, 4096 |/s/ |$/9 |/'
edited docs/ladder.svg 's/H200/H100/'
edited bench/published/documents.csv 's/,6436,/,6437,/'

# The commands beside its tables that need no GPU can be run as they stand.
sed -n 's/ *#.*//; s/^build\/tessera explain/explain/p' README.md docs/LADDER.md | sed 's/build\/tessera //g' >"$work/lines"
while read -r line; do
    printf '%s\n' "$line" | sed "s|^explain|$build/tessera explain|; s|&& explain|\&\& $build/tessera explain|g" >"$work/command"
    sh -e "$work/command" >"$work/said" 2>&1 </dev/null || echo "$line: $(tail -n 1 "$work/said")"
done <"$work/lines" >"$work/broken"
if [ "$(wc -l <"$work/lines")" -ge 8 ]; then pass; else fail "fewer commands were found than README.md and docs/LADDER.md have"; fi
none "commands of README.md and docs/LADDER.md that do not run" "$work/broken"

# What the text of docs/LADDER.md says of others' figures: their rates and times are of one product each, a prefetch that is
# dropped leaves V3's loads, padding removes no conflict, and the 4×4 kernel spills nothing.
awk -F, '$12 != "" && $1 != "document" { rate = 2 * $8 * $9 * $10 / $12 / 1e6 }
    $12 != "" && $1 != "document" && !/^#/ && (rate / $11 > 1.005 || rate / $11 < 0.995)' bench/published/documents.csv >"$work/typed"
none "published rates that are not those of their times" "$work/typed"
awk -F, '
    { value[$1, $3, $4, $5, $6, $7] = $8 }
    function of(text, kernel, params, name) { return value[text, kernel, params, 2048, "counters", name] }
    END {
        loads = of("", "simt_05_shared", "TILE=32", "global_load_requests")
        if (loads == "" || loads != of("unused_prefetch", "simt_06_prefetched", "TILE=32 PAD=1", "global_load_requests"))
            print "the unused prefetch has other load requests than simt_05_shared"
        passes = of("", "simt_06_prefetched", "TILE=32", "shared_load_wavefronts")
        if (passes == "" || passes != of("", "simt_06_prefetched", "TILE=32", "shared_load_instructions"))
            print "simt_06_prefetched has bank conflicts without padding"
        spilled = value["", "simt_08_strided4x4", "", 16384, "occupancy", "spilled bytes of a thread"]
        if (spilled != "0") print "simt_08_strided4x4 spills: " spilled
    }' bench/model/explained.csv >"$work/claims"
none "claims of docs/LADDER.md that the counters do not bear out" "$work/claims"

# And of the H200's: which of two is faster, and by how much at least.
(
    results=bench/results/h200
    . scripts/csv.sh
    plain_csv $results/ladder-f32.csv $results/documents.csv | awk -F, '
        $1 == "schema" { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["h2d_ms"] == "" && $column["type"] == "f32" { rate[$column["kernel"] " " $column["params"], $column["m"]] = $column["gflops"] }
        function claim(faster, slower, size, least, most,    times) {
            times = rate[slower, size] > 0 ? rate[faster, size] / rate[slower, size] : 0
            if (times < least || times > most) printf "%s is %.2f times as fast as %s at %d\n", faster, times, slower, size
        }
        END {
            claim("simt_05_shared TILE=32", "simt_05_shared TILE=16", 8192, 1.1, 1.3)
            claim("simt_05_shared TILE=32", "simt_05_shared TILE=16", 16384, 1.1, 1.3)
            claim("simt_10_vectorized ", "simt_10_vectorized PAD=5", 4096, 1.05, 1.2)
            for (size = 512; size <= 2048; size *= 2) {
                claim("simt_02_coalesced BX=16 BY=16", "simt_03_unrolled BX=16 BY=16", size, 0.94, 1.06)
                claim("simt_05_shared TILE=16", "simt_02_coalesced BX=16 BY=16", size, 1.3, 1.5)
                claim("simt_07_tile1d BM=32 BN=32 BK=32 TM=4", "simt_05_shared TILE=32", size, 1.65, 1.85)
                claim("simt_06_prefetched ", "simt_06_prefetched TILE=32 PAD=1", size, 1.15, 1.35)
            }
        }'
) >"$work/claims"
none "claims of docs/LADDER.md that the H200 does not bear out" "$work/claims"

# ---- Scripts ----

for name in $(sed -n 's/^every_step="\(.*\)"$/\1/p' scripts/gpu.sh); do
    grep -q "^#   $name " scripts/gpu.sh || echo "$name is not explained"
    [ "$name" = build ] || grep -q "^run_$name()" scripts/gpu.sh scripts/gpu-checks.sh || echo "$name does nothing"
done >"$work/steps"
none "steps of scripts/gpu.sh" "$work/steps"

# ---- Sources ----

sources | xargs wc -l | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }' >"$work/long"
none "files over 600 lines: make two of them" "$work/long"
# shellcheck disable=SC2046
grep -n -E '\<(TO''DO|FIX''ME|XX''X)\>|^ *# *if 0' $(sources) >"$work/unfinished"
none "unfinished work" "$work/unfinished"

# includes FILE...: "file:header" for each header of ours.
includes() { [ $# -eq 0 ] || grep -H -o -E '^ *# *include "[^"]+"' "$@" | sed -E 's/: *# *include "([^"]+)"/:\1/'; }
# White-box tests, tests/unit_*.c, may look inside the library; nothing else outside it may.
outside() { find examples cli tests -name '*.[ch]' ! -name 'unit_*'; }
# A header without a directory is in the file's own; tessera.h is for all; a directory below tests/ may use its headers.
# shellcheck disable=SC2046
includes $(outside) | grep -v ':tessera\.h$' | while IFS=: read -r file header; do
    case $file:$header in
    tests/*/*:../[a-z]*.h) [ -e "tests/${header#../}" ] || echo "$file includes $header" ;;
    *:*/*) echo "$file includes $header" ;;
    *) [ -e "$(dirname "$file")/$header" ] || echo "$file includes $header" ;;
    esac
done >"$work/arrows"
# shellcheck disable=SC2046
includes $(sources src) | grep -E ':(.*/)?cli/|:(.*/)?tests/' >>"$work/arrows"
for device in cpu cuda sim; do
    others=$(echo 'cpu cuda sim' | sed "s/ *$device */ /; s/^ //; s/ \$//; s/ /|/")
    # shellcheck disable=SC2046
    includes $(sources src/$device) | grep -E ":(.*/)?($others)/" >>"$work/arrows"
done
none "includes that run the wrong way" "$work/arrows"

# Which object uses which other's names. tsort puts them in an order, and says where there is none.
find "$build/src" "$build/cli" -name '*.o' | LC_ALL=C sort | xargs nm | awk '
    /:$/ { object = substr($0, 1, length($0) - 1) }
    NF == 3 && $2 ~ /^[TDBRVW]$/ { home[$3] = object }
    NF == 2 && $1 == "U" { used[object " " $2] = 1 }
    END {
        for (use in used) {
            split(use, part, " ")
            if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]]
        }
    }' >"$work/calls"
[ "$(grep -c . "$work/calls")" -gt 500 ] || echo "only $(grep -c . "$work/calls") calls were found in $build" >"$work/circles"
tsort "$work/calls" 2>>"$work/circles" >/dev/null
none "files that call each other in a circle" "$work/circles"

finish docs
