# tests/lib.sh: what the test scripts share. A script sources it, calls pass, fail and skip, and ends with
# finish, which prints "NAME: N passed, N failed[, N skipped]" and gives the exit code.
# $work is a directory that is gone afterwards.

passed=0
failed=0
skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); printf 'FAIL %s\n' "$*"; }
skip() { skipped=$((skipped + 1)); printf 'skip %s\n' "$*"; }

# try WHAT COMMAND...: passes if the command succeeds; its output is shown if it does not.
try() {
    what=$1
    shift
    if "$@" >"$work/try.log" 2>&1; then pass
    else
        fail "$what: $*"
        sed 's/^/    /' "$work/try.log" | head -n 30
    fi
}

# same WHAT EXPECTED ACTUAL: passes if two files are equal; shows how they differ if not.
same() {
    if cmp -s "$2" "$3"; then pass
    else
        fail "$1 (< expected, > found)"
        diff "$2" "$3" | sed -n 's/^[<>]/    &/p' | head -n 30
    fi
}

# none WHAT FILE: passes if the file is empty; its lines are the complaints.
none() {
    if [ -s "$2" ]; then
        fail "$1"
        sed 's/^/    /' "$2" | head -n 30
    else pass; fi
}

# count_cpu: sets $cpu to the seconds that all commands so far have kept processors busy. Where a machine is shared, the
# clock on the wall says little of a command. Not in a pipe: that is a shell of its own.
count_cpu() {
    times >"$work/times"
    cpu=$(awk 'NR == 2 { gsub(/[ms]/, " "); printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }' "$work/times")
}

finish() {
    line="$1: $passed passed, $failed failed"
    [ $skipped = 0 ] || line="$line, $skipped skipped"
    echo "$line"
    [ $failed = 0 ]
}
