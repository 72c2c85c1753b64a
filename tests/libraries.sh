#!/bin/sh
# tests/libraries.sh [BUILD]: which of CUDA's libraries are found, which one is taken, and what is said of those that
# are missing or do not fit together. The libraries are stand-ins, built here.
set -u
cd "$(dirname "$0")/.." || exit
. tests/lib.sh
build=${1:-${BUILD:-build}}
cc=${CC:-cc}
unset CUDA_HOME CUDA_PATH VIRTUAL_ENV CONDA_PREFIX TESSERA_DEVICE TESSERA_VERBOSE

# nvrtc DIRECTORY MAJOR MINOR: a stand-in compiler, under the name a real one of that version has.
nvrtc() {
    mkdir -p "$1"
    $cc -shared -fPIC -D_GNU_SOURCE -DSTANDIN_MAJOR="$2" -DSTANDIN_MINOR="$3" tests/standin/nvrtc.c \
        -o "$1/libnvrtc.so.$2" || fail "the stand-in compiler $2.$3 does not build"
}
# library FILE: from the C text on standard input.
library() {
    mkdir -p "$(dirname "$1")"
    $cc -shared -fPIC -x c - -o "$1" || fail "$1 does not build"
}
# driver DIRECTORY NUMBER: no more of a driver than its version.
driver() { echo "int cuDriverGetVersion(int *v) { *v = $2; return 0; }" | library "$1/libcuda.so.1"; }

# devices PATH: what the command finds in these directories alone.
devices() { TESSERA_LIBRARY_PATH=$1 "$build/tessera" devices --verbose >"$work/out" 2>&1; }
# says WHAT TEXT, silent WHAT TEXT: whether the last output has the text.
says() {
    if grep -qF -e "$2" "$work/out"; then pass
    else
        fail "$1: no '$2' in"
        grep -v 'tried /usr\|tried lib' "$work/out" | sed 's/^/    /' | head -n 20
    fi
}
silent() { if grep -qF -e "$2" "$work/out"; then fail "$1: there should be no '$2'"; else pass; fi; }

nvrtc "$work/n13" 13 0
nvrtc "$work/n12" 12 4
nvrtc "$work/n12new" 12 8
driver "$work/d12" 12040
driver "$work/d13" 13000
mkdir "$work/empty"

devices "$work/empty:$work/none"
says 'no driver' 'CUDA driver (libcuda.so.1) was not found in'
says 'no NVRTC' 'NVRTC (libnvrtc.so.13) was not found in'
says 'a missing library says where it was looked for, and why only there' 'TESSERA_LIBRARY_PATH says to look nowhere else'
for place in empty none; do
    for file in libcuda.so.1 libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so libnvidia-ml.so.1 libcublas.so.13 \
        libcublas.so.12 libcublasLt.so.13; do
        says 'every file tried is named' "tried $work/$place/$file"
    done
done
silent 'no other place is searched' 'tried /usr/local/cuda'
silent 'the linker is not asked' 'tried libnvrtc'

devices "$work/d12"
says 'a driver without NVRTC' 'NVRTC (libnvrtc.so.13) was not found in'
says 'the driver has its version' "$work/d12/libcuda.so.1, 12.4"

devices "$work/d12:$work/n13"
says 'NVRTC newer than the driver' "NVRTC 13.0 ($work/n13/libnvrtc.so.13) is newer than the CUDA driver"
says 'and the driver is named' "which is for 12.4 ($work/d12/libcuda.so.1)"
says 'and what to do' 'pip install nvidia-cuda-nvrtc-cu12'

devices "$work/d12:$work/n13:$work/n12"
says 'of two NVRTCs the one the driver accepts' "$work/n12/libnvrtc.so.12, 12.4"
says 'and the other is told of' "tried $work/n13/libnvrtc.so.13 (13.0, newer than the driver)"

devices "$work/d13:$work/n12:$work/n13"
says 'of two that the driver accepts the newer' "$work/n13/libnvrtc.so.13, 13.0"
for order in "$work/n12:$work/n12new" "$work/n12new:$work/n12"; do
    devices "$work/d12:$order"
    says 'a minor version beyond the driver is accepted; the newest is taken' "$work/n12new/libnvrtc.so.12, 12.8"
done
devices "$work/n12:$work/n13"
says 'without a driver the newest' "$work/n13/libnvrtc.so.13, 13.0"

mkdir "$work/text"
echo 'no library' >"$work/text/libnvrtc.so.13"
echo 'int unrelated(void) { return 0; }' | library "$work/other/libnvrtc.so.13"
devices "$work/text"
says 'a file that is no library' "NVRTC cannot be used: $work/text/libnvrtc.so.13: "
devices "$work/other"
says 'a library that is no NVRTC' "NVRTC cannot be used: $work/other/libnvrtc.so.13: it does not tell its version"
devices "$work/text:$work/n12"
says 'one that can be used is looked for further' "$work/n12/libnvrtc.so.12, 12.4"

# Without TESSERA_LIBRARY_PATH. Version 13.99 is newer than any there may be here.
found() { # what, variable, its value
    env "$2=$3" "$build/tessera" devices --verbose >"$work/out" 2>&1
    says "$1" ', 13.99: compiles'
}
nvrtc "$work/toolkit/lib64" 13 99
for package in cu13 cuda_nvrtc; do nvrtc "$work/$package/lib/python3.11/site-packages/nvidia/$package/lib" 13 99; done
nvrtc "$work/home/.local/lib/python3.12/site-packages/nvidia/cu13/lib" 13 99
nvrtc "$work/conda/lib" 13 99
for variable in CUDA_HOME CUDA_PATH; do found "the toolkit of $variable" $variable "$work/toolkit"; done
for package in cu13 cuda_nvrtc; do found "pip's nvidia/$package in an environment" VIRTUAL_ENV "$work/$package"; done
found "pip's packages of a user" HOME "$work/home"
found 'conda' CONDA_PREFIX "$work/conda"
for place in libnvrtc.so.13 /usr/local/cuda/lib64/libnvrtc.so.13 "/dist-packages/nvidia/*/lib/libnvrtc.so.13"; do
    says 'the usual places are named' "$place"
done
CUDA_PATH=$work/toolkit CUDA_HOME=$work/toolkit "$build/tessera" devices --verbose >"$work/out" 2>&1
case $(grep -c "tried $work/toolkit/lib64/libnvrtc.so.13" "$work/out") in
1) pass ;;
*) fail 'a directory that two variables name is tried once' ;;
esac

finish libraries
