#!/bin/sh
# scripts/demo.sh TESSERA: one screen of 80 columns that shows what Tessera does on this machine, in under two minutes without a
# GPU, and leaves report.html beside the command. Each section says where its numbers come from: counted by the simulator,
# predicted by the model, or measured here.
set -eu

tessera=${1:?usage: sh scripts/demo.sh PATH/TO/tessera}
report=$(dirname "$tessera")/report.html
counted=512      # the size at which the simulator counts
gpu_size=${DEMO_SIZE:-4096} # the size of the GPU's ladder, measured or predicted
cpu_size=512
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
. "$(dirname "$0")/csv.sh"

# A full block where the terminal has one.
case ${LC_ALL:-${LC_CTYPE:-${LANG-}}} in
*[Uu][Tt][Ff]*8*) block='█' ;;
*) block='#' ;;
esac

# bars WIDTH: each line of "text|value" with a bar after it, the largest value being WIDTH blocks wide.
bars() {
    awk -F '|' -v width="$1" -v block="$block" '
        { text[NR] = $1; value[NR] = $2; if ($2 > most) most = $2 }
        END {
            for (i = 1; i <= NR; i++) {
                bar = ""
                for (j = 0; j < int(value[i] / most * width + 0.5); j++) bar = bar block
                line = text[i] "  " bar
                sub(/ +$/, "", line)
                print line
            }
        }'
}

show_machine() {
    "$tessera" --version | sed 's/^tessera/Tessera/; s/ (.*//; s/$/: matrix multiplication, C = alpha*A*B + beta*C/'
    echo
    "$tessera" devices --csv "$scratch/devices" >/dev/null 2>&1
    plain_csv "$scratch/devices" | awk -F, 'NR > 1 && $1 !~ /^sim/ {
        line = sprintf("  %-8s %s, %s", $1, $2, $3)
        line = line (($1 ~ /^cuda/) ? ", " $4 " multiprocessors" : ", " $4 (($4 == 1) ? " core" : " cores"))
        print substr(line, 1, 80)
        if ($1 ~ /^cuda/) found = 1
    }
    END { if (!found) print "  gpu      none here: its kernels are simulated, its speed is predicted" }'
    "$tessera" devices 2>/dev/null | awk '/^peers/ { on = 1; next } on && $1 != "not" && NF > 1 { printf "%s%s", n++ ? ", " : "", $1 } ' >"$scratch/peers"
    [ ! -s "$scratch/peers" ] || printf '  %-8s %s, to compare with\n' peers "$(cat "$scratch/peers")"
}

# counts: "kernel,sectors,wavefronts" of each rung: what a warp asks for, for each of its multiply-adds.
counts() {
    while read -r kernel; do
        "$tessera" explain "$kernel" --size $counted --quiet --csv "$scratch/one" >/dev/null 2>&1 || continue
        plain_csv "$scratch/one" | awk -F, -v kernel="$kernel" '
            { value[$1 "/" $2] = $3 }
            END {
                fma = value["counters/flops"] / 64
                printf "%s,%.2f,%.2f\n", kernel, value["counters/global_load_sectors"] / fma,
                    value["counters as compiled/shared_load_wavefronts"] / fma
            }'
    done
}

# What an H200 would reach, by the model, or what this GPU does reach: "kernel,GFLOPS,ratio".
predict_rates() {
    "$tessera" explain --size $gpu_size --quiet --csv "$scratch/ladder" >/dev/null 2>"$scratch/said" || return 0
    plain_csv "$scratch/ladder" | awk -F, 'NR > 1 && $2 ~ /^simt/ { print $2 "," $7 "," }'
}
measure_rates() { # DEVICE KERNELS SIZE OPTION...
    device=$1 kernels=$2 size=$3
    shift 3
    "$tessera" bench --kernels "$kernels" --device "$device" --sizes "$size" --min-time 0.1 --quiet --csv "$scratch/bench" "$@" \
        >/dev/null 2>"$scratch/said" || [ -s "$scratch/bench" ] || { cat "$scratch/said" >&2; exit 1; }
    plain_csv "$scratch/bench" | awk -F, '
        $1 == "schema" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        !seen[$at["kernel"]]++ { print $at["kernel"] "," $at["gflops"] "," $at["ratio"] "," $at["peer"] }'
}

show_gpu_ladder() { # DEVICE, or nothing
    echo
    if [ -n "$1" ]; then
        echo "The GPU's ladder. For each multiply-add of a warp: sectors of global memory and"
        echo "passes through shared memory, counted at $counted; f32 rates measured at $gpu_size."
    else
        echo "A GPU's ladder, without one. For each multiply-add of a warp: sectors of global"
        echo "memory and passes through shared memory, counted at $counted; rates of an H200"
        echo "predicted at $gpu_size."
    fi
    # The last rung is for batches of small products, and a single one is not its place.
    "$tessera" list --device sim --csv - | sed -n 's/^[0-9]*,\(simt_[^,]*\),.*/\1/p' | grep -v batched | counts >"$scratch/counts"
    if [ -n "$1" ]; then measure_rates "$1" 'simt_*' $gpu_size; else predict_rates; fi >"$scratch/all"
    grep -v batched "$scratch/all" >"$scratch/rates"
    echo
    # Counting needs gcc, or what it left when Tessera was built.
    if [ ! -s "$scratch/rates" ]; then fold -s -w 76 "$scratch/said" | sed 's/^/  /'; return; fi
    printf '  %-21s %7s %7s %8s%s\n' rung sectors shared GFLOPS "$([ -z "$1" ] || echo '  of cuBLAS')"
    awk -F, -v measured="$1" '
        NR == FNR { sectors[$1] = $2; shared[$1] = $3; next }
        { printf "  %-21s %7s %7s %8.0f%s|%s\n", $1, sectors[$1], shared[$1], $2, measured == "" ? "" : sprintf(" %10.2f", $3), $2 }
        ' "$scratch/counts" "$scratch/rates" | bars "$([ -n "$1" ] && echo 18 || echo 28)"
}

show_tensor_cores() { # DEVICE
    family=mma
    ! plain_csv "$scratch/devices" | grep -q "^$1,.*,sm_90a," || family=wgmma
    measure_rates "$1" "${family}_*" $gpu_size --type bf16 >"$scratch/tensor"
    echo
    echo "Its tensor cores: bf16 at $gpu_size."
    awk -F, '{ printf "  %-21s %24.0f %10.2f|%s\n", $1, $2, $3, $2 }' "$scratch/tensor" | bars 18
}

show_cpu_ladder() {
    echo
    echo "The CPU's ladder, measured here: f32 at $cpu_size, in turns with the peer."
    measure_rates cpu 'cpu_0[1-4]*' $cpu_size >"$scratch/cpu"
    peer=$(awk -F, '$4 != "" { print $4; exit }' "$scratch/cpu")
    echo
    printf '  %-21s %8s  %s\n' kernel GFLOPS "${peer:+of $peer}"
    awk -F, '{ printf "  %-21s %8.1f  %11s|%s\n", $1, $2, $3 == "" ? "" : sprintf("%.2f", $3), $2 }' "$scratch/cpu" | bars 28
}

show_next() {
    "$tessera" report --quick --quiet -o "$report" >/dev/null 2>&1
    echo
    echo "  $report: all of this as pictures"
    echo "  $tessera explain 9: why rung 9 is as fast as it is"
    echo "  $tessera verify: every kernel on awkward shapes"
}

show_machine
gpu=$(sed -n 's/^"*\(cuda[^,"]*\).*/\1/p' "$scratch/devices" | head -n 1)
show_gpu_ladder "$gpu"
[ -z "$gpu" ] || show_tensor_cores "$gpu"
show_cpu_ladder
show_next
