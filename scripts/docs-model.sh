#!/bin/sh
# scripts/docs-model.sh TESSERA DIRECTORY: what `tessera explain` says of the products that the documents speak of, as two
# files in DIRECTORY: predictions.csv, a row for each rate that was measured or published, and explained.csv, the figures
# behind some of them. scripts/docs.sh makes the tables of these. Registers come from NVRTC, whose version is their first
# line. Five digits are kept, so that the files do not depend on the machine.
set -eu
tessera=$1
out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
. scripts/csv.sh

version=$("$tessera" devices 2>/dev/null | sed -n 's/^ *NVRTC .*, \([0-9.]*\): .*/\1/p' | head -n 1)
heading="# registers by NVRTC ${version:-none}"

# predict SET GPU FILE: rows of explain --measured. The model is not calibrated for tensor cores.
predict() {
    "$tessera" explain --gpu "$2" --measured "$3" --quiet --csv "$work/rows.csv" >/dev/null
    plain_csv "$work/rows.csv" | awk -F, -v set="$1" 'NR > 1 && $1 !~ /^mma_/ {
        printf "%s,%s,%s,%s,%s,%s,%.5g,%.5g,%.2f\n", set, $5, $1, $2, $3, $4, $6, $7, $8 }'
}

predictions() {
    echo "$heading"
    echo 'set,gpu,kernel,params,type,size,gflops,predicted_gflops,error_pct'
    for type in f32 f64 i32; do predict "h200-$type" H200 "bench/results/h200/ladder-$type.csv"; done
    for gpu in 'Tesla P100' 'Quadro P4000' 'GTX 1650' 'RTX 3070 Laptop'; do
        predict published "$gpu" bench/published/documents.csv
    done
    # Rates of a kernel whose source is not known: they take no part in the model's errors.
    plain_csv bench/published/figures.csv | awk -F, '
        $1 == "document" { print "gpu,kernel,params,type,m,n,k,gflops" }
        $10 == "rate" && $7 != "" { print $3 "," $4 "," $5 "," $6 "," $7 "," $8 "," $9 "," $11 }' >"$work/figures.csv"
    predict unpublished 'Quadro P4000' "$work/figures.csv"
}

# explained CASE GPU SIZE KERNEL [PARAMS]: the figures of one rung. CASE is empty; or i32, the type; or it names what is in place
# of the kernel's own text. Other parameters than its own may break what a kernel's header expects, and explain then ends with 1.
explained() {
    type=f32
    [ "$1" != i32 ] || type=i32
    "$tessera" explain "$4" --gpu "$2" --size "$3" --type $type ${5:+--params "$5"} --quiet --csv "$work/one.csv" >/dev/null 2>"$work/said" ||
        [ -s "$work/one.csv" ] || { cat "$work/said" >&2; exit 1; }
    plain_csv "$work/one.csv" | awk -F, -v before="$1,$2,$4,$(printf %s "${5-}" | tr , ' '),$3" '
        function shown(value) { return value == "" ? $5 : value == int(value) ? sprintf("%.0f", value) : sprintf("%.5g", value) }
        $1 ~ /^counters/ && $2 !~ /^(global_load_(requests|sectors|bytes)|shared_load_(instructions|wavefronts)|barriers)$/ { next }
        $1 ~ /^(counters|counters as compiled|occupancy|roofline|model)$/ && $2 !~ /^(GPU|note|overlap|busy|waiting|waves)$/ {
            printf "%s,%s,%s,%s,%s\n", before, $1, $2, shown($3), $1 == "model" ? $5 : ""
        }'
    rm -f "$work/one.csv"
}

# A rung with the text of another file: the pitfall of an unused prefetch in place of a prefetch.
explained_pitfall() {
    mkdir -p "$work/kernels"
    cp kernels/* "$work/kernels/"
    sed 's/unused_prefetch/simt_06_prefetched/' examples/pitfalls/unused_prefetch.cu >"$work/kernels/simt_06_prefetched.cu"
    TESSERA_KERNEL_DIR="$work/kernels" explained unused_prefetch "$@"
}

explanations() {
    echo "$heading"
    echo 'case,gpu,kernel,params,size,section,name,value,text'
    for gpu in 'Tesla P100' H200; do
        for size in 1024 8192 16384; do
            explained '' "$gpu" $size simt_02_coalesced
            for tile in 16 32; do explained '' "$gpu" $size simt_05_shared TILE=$tile; done
            explained '' "$gpu" $size simt_08_strided4x4
        done
    done
    explained '' H200 4096 simt_02_coalesced BX=16,BY=16
    for tile in 16 32; do explained '' H200 4096 simt_05_shared TILE=$tile; done
    for params in TILE=32 TILE=32,PAD=1; do explained '' 'Quadro P4000' 2048 simt_06_prefetched $params; done
    explained '' 'Quadro P4000' 2048 simt_05_shared TILE=32
    explained_pitfall 'Quadro P4000' 2048 simt_06_prefetched TILE=32,PAD=1
    for gpu in 'RTX 3070 Laptop' H200; do
        explained '' "$gpu" 8192 simt_01_uncoalesced
        [ "$gpu" = H200 ] || explained '' "$gpu" 8192 simt_02_coalesced
        [ "$gpu" = H200 ] || for tile in 16 32; do explained '' "$gpu" 8192 simt_05_shared TILE=$tile; done
    done
    for kernel in simt_01_uncoalesced simt_02_coalesced; do explained i32 'RTX 3070 Laptop' 8192 $kernel; done
    explained '' 'GTX 1650' 4096 simt_09_tile2d
    explained '' H200 4096 simt_10_vectorized
    explained '' H200 4096 simt_10_vectorized PAD=5
}

mkdir -p "$out"
predictions >"$out/predictions.csv"
explanations >"$out/explained.csv"
