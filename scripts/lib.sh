# scripts/lib.sh: what the scripts that measure a device share. Whoever sources it has set $tessera, the command, and
# $scratch, a directory of its own.

failed=
# step NAME COMMAND...: one line, with the seconds it took; what the command said only if it failed.
step() {
    name=$1
    shift
    printf '%-12s ' "$name"
    start=$(date +%s)
    if "$@" >"$scratch/said" 2>&1; then
        echo "ok, $(($(date +%s) - start)) s"
    else
        status=$?
        echo "FAILED with status $status, $(($(date +%s) - start)) s"
        tail -n 20 "$scratch/said" | sed 's/^/    /'
        failed="$failed $name"
    fi
}

# device_fact DEVICE COLUMN: a field of `tessera devices`; nothing if there is no such device.
device_fact() {
    "$tessera" devices --csv - 2>/dev/null | sed 's/"//g' | awk -F, -v device="$1" -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
        $1 == device { print $at }'
}

# "Intel(R) Xeon(R) Processor" is intel-xeon-processor.
slug() { tr '[:upper:]' '[:lower:]' | sed 's/([a-z]*)/ /g; s/[^a-z0-9]\{1,\}/-/g; s/^-//; s/-$//'; }

# join FILE...: the rows of several CSV files under one heading, each after its own environment.
join_csv() { cat "$@" | awk '!/^schema,/ || !headed++'; }

# bench_again FILE TIMES OPTION...: the same measurement in that many processes, one after the other. Sets of such rows show
# how far one run differs from the next, and whether compare's intervals allow for it. The environment of the first stays; rows are
# in the file as soon as their process ends.
bench_again() {
    file=$1 left=$2
    shift 2
    rm -f "$file"
    while [ "$left" -gt 0 ]; do
        "$tessera" bench "$@" --peer none --no-verify --quiet --csv "$scratch/again.csv" >/dev/null || return
        if [ -e "$file" ]; then sed '/^#/d; /^schema,/d' "$scratch/again.csv" >>"$file"
        else cp "$scratch/again.csv" "$file"; fi
        left=$((left - 1))
    done
}

# known_steps EVERY WORD...: a word that is no step ends the script with a sentence. $also names what else may be said.
also=
known_steps() {
    every=$1
    shift
    for word; do
        case " $every " in
        *" $word "*) ;;
        *) echo "$(basename "$0"): there is no step '$word'; steps are: $every$also" >&2; exit 2 ;;
        esac
    done
}
