#!/bin/sh
# tests/fuzz/run.sh SECONDS: fuzzes the reader of .npy headers with clang's libFuzzer, under ASan and UBSan.
#
# What it learns stays in $BUILD/fuzz/npy, so that the next run goes on from there; an input that fails stays in
# $BUILD/fuzz. Where clang has no fuzzer a sentence says so, and that is no failure.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
seconds=${1:-60}
target=$build/fuzz/target
mkdir -p "$build/fuzz/npy"

clang=
for candidate in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
    command -v $candidate >/dev/null 2>&1 || continue
    if $candidate -std=c11 -O1 -g -D_GNU_SOURCE -DLIBFUZZER -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all -Iinclude -Icli tests/fuzz/npy.c cli/npy.c -o "$target" 2>"$build/fuzz/log"; then
        clang=$candidate
        break
    fi
done
if [ -z "$clang" ]; then
    echo "skip fuzz: no clang with libFuzzer here"
    exit 0
fi
"$build/tests/fuzz/npy" --seeds "$build/fuzz/npy" || exit
if "$target" -max_total_time="$seconds" -max_len=1024 -timeout=5 -artifact_prefix="$build/fuzz/" \
    "$build/fuzz/npy" >"$build/fuzz/log" 2>&1; then
    echo "fuzz: npy, $(sed -n 's/^Done //p' "$build/fuzz/log"), nothing found"
else
    tail -n 40 "$build/fuzz/log"
    echo "fuzz: npy failed; $target FILE repeats it"
    exit 1
fi
