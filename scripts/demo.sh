#!/bin/sh
# demo.sh TESSERA: climbs the ladder of kernels on the best device here; about a minute on two cores.
#
# Everything it says about a kernel comes from the program's own registry.
set -eu

tessera=${1:?usage: sh scripts/demo.sh PATH/TO/tessera}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

device=$("$tessera" devices --csv - | sed -n '2s/,.*//p')
case $device in
cuda*) sizes=256,1024,4096 last=4096 larger=8192 types=f32,f64,i32 ;;
*) sizes=128,256,512 last=512 larger=1024,1536 types=f32,f64,f16,i8 ;;
esac
"$tessera" devices

echo
echo "The ladder of $device, from the simplest kernel up: square f32 products, each verified, then timed."
echo "ratio is the speed beside the peer's: 1.00 is as fast."

# Number 0 is a peer: it is beside every rung.
"$tessera" list --device "$device" --csv - | sed '1d; /^0,/d' | cut -d, -f2 > "$scratch/kernels"
while read -r kernel; do
    echo
    "$tessera" list --device "$device" --long "$kernel" | sed -n '1,2p'
    # A kernel that takes no squares is for a matrix times a vector.
    "$tessera" bench "$kernel" --device "$device" --sizes $sizes --min-time 0.1 --quiet \
        --csv "$scratch/$kernel.csv" 2>/dev/null ||
        "$tessera" bench "$kernel" --device "$device" --shape 1024x1x1024,4096x1x4096,1x4096x4096 --min-time 0.1 --quiet
done < "$scratch/kernels"

# The fastest on the last size; columns are found by name.
best=$(cat "$scratch"/*.csv | awk -F, -v last="$last" '
    $1 == "schema" { for (i = 1; i <= NF; i++) column[$i] = i; next }
    $column["m"] == last && $column["gflops"] > most { most = $column["gflops"]; name = $column["kernel"] }
    END { print name }')

echo
echo "Fastest at $last: $best. On larger products:"
"$tessera" bench "$best" --device "$device" --sizes $larger --min-time 0.2

echo
echo "What next:"
echo "  $tessera list --long            what each rung changes, and its parameters"
echo "  $tessera bench $best 2048 --type $types"
echo "  $tessera verify                 every kernel on awkward shapes"
