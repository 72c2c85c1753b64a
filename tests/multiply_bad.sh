# multiply_bad.sh: the part of tests/multiply.sh in which everything is wrong: command lines, headers, files. It is
# sourced there, for its functions, and uses what that script defines.
# shellcheck shell=sh disable=SC2154

wrong_command_lines() {
    "$make" a.npy '<f4' C 1 7x13 a
    "$make" b.npy '<f4' C 1 13x5 b
    refuse 'no files' 'two files, but got 0' 2 multiply
    refuse 'one file' 'two files, but got 1' 2 multiply a.npy -o c.npy
    refuse 'three files' 'one word too many' 2 multiply a.npy b.npy c.npy
    refuse 'no output' 'needs the name of the output' 2 multiply a.npy b.npy
    refuse 'empty output' 'needs the name of the output' 2 multiply a.npy b.npy -o ''
    refuse '-o without a value' '--output needs a value' 2 multiply a.npy b.npy -o
    refuse 'unknown type' "--type is 'f33'" 2 multiply a.npy b.npy -o new --type f33
    refuse 'impossible type' '--type is f16, but f32 gives f32' 2 multiply a.npy b.npy -o new --type f16
    refuse 'unknown order' 'C, F' 2 multiply a.npy b.npy -o new --order A
    refuse 'bad alpha' '--alpha' 2 multiply a.npy b.npy -o new --alpha x
    refuse 'bad mode' '--compute' 2 multiply a.npy b.npy -o new --compute fp8
    refuse 'bad threads' '--threads' 2 multiply a.npy b.npy -o new --threads 0
    refuse 'unknown kernel' 'nokernel' 1 multiply a.npy b.npy -o new --kernel nokernel
    refuse 'unknown device' 'nodevice' 1 multiply a.npy b.npy -o new --device nodevice
    refuse 'shapes that do not fit' "A's columns (5) must equal B's rows (7)" 1 multiply b.npy a.npy -o new
    refuse 'bf16 that is none' "'a.npy' is f32" 1 multiply a.npy b.npy -o new --bf16
    "$make" b.npy '<f8' C 1 13x5 b
    refuse 'two types' "'a.npy' is f32 but 'b.npy' is f64" 1 multiply a.npy b.npy -o new
    "$make" b.npy '<u2' C 1 13x5 b
    refuse 'u2 without --bf16' '--bf16' 1 multiply a.npy b.npy -o new
    "$make" b.npy '<f4' C 1 1!x1! b
    refuse 'a number' 'B has 0 dimensions' 1 multiply a.npy b.npy -o new
    "$make" a.npy '<f4' C 1 3x7x13 a
    "$make" b.npy '<f4' C 1 2x13x5 b
    refuse 'stacks of two lengths' 'equally long' 1 multiply a.npy b.npy -o new
}

# A good B, and an A with this header: 91 bytes of data, as i1 of 7x13 has.
bad_header() { # text of the refusal, header, [version]
    raw bad.npy "${3:-1}" "$2" ../data
    refuse "header $2" "could not read 'bad.npy': $1" 1 multiply bad.npy b.npy -o new
}

hostile_headers() {
    "$make" b.npy '|i1' C 1 13x5 b
    "$make" a.npy '|i1' C 1 7x13 a
    "$make" ../want '<i4' C 1 7x5 ab:13
    tail -c 91 a.npy >../data
    rest="'fortran_order': False, 'shape': (7, 13)"
    # Unusual, but right: other quotes, no order, no padding, keys in another order, the L of Python 2.
    for header in "{'descr':'|i1','fortran_order':False,'shape':(7,13)}" \
        '{"shape": (7L, 13L,), "fortran_order" : False , "descr": "i1"}  '; do
        raw odd.npy 1 "$header" ../data
        right "header $header" odd.npy b.npy
    done
    # Elements that begin at odd bytes.
    "$make" odd.npy '<f8' C 1 7x13 a
    tail -c 728 odd.npy >../data8
    raw odd.npy 1 "{'descr': '<f8', $rest}   " ../data8
    "$make" b8.npy '<f8' C 1 13x5 b
    "$make" ../want '<f8' C 1 7x5 ab:13
    right 'data that is not aligned' odd.npy b8.npy

    bad_header 'its elements are of type' "{'descr': '|O', $rest}"
    bad_header 'its elements are of type' "{'descr': '<U5', $rest}"
    bad_header 'its elements are of type' "{'descr': '<c8', $rest}"
    bad_header 'its elements are of type' "{'descr': '<i8', $rest}"
    bad_header 'its elements are of type' "{'descr': '', $rest}"
    bad_header 'its elements are of type' "{'descr': '<', $rest}"
    bad_header 'its elements are of type' "{'descr': 'i1x', $rest}"
    bad_header 'its elements are of type' "{'descr': '$(printf '\303\251\033[2J')', $rest}" 3
    bad_header 'its elements are records' "{'descr': [('x', '<f4'), ('y', '<f4')], $rest}"
    bad_header 'its elements are records' "{'descr': (('|i1', (2,)),), $rest}"
    bad_header 'its header has' "{'descr': __import__('os').system('touch pwned'), $rest}"
    bad_header 'its header has' "{'descr': '|i1' if True else '', $rest}"
    bad_header 'its header has' "{'descr': '\\x7ci1', $rest}"
    bad_header 'its header has' "__import__('os').system('touch pwned')"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': 0, 'shape': (7, 13)}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': [7, 13]}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': 91}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': ('7', 13)}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': (07, 13)}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': (7.0, 13)}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': (7 13)}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': (7,, 13)}"
    bad_header 'its header has' "{'descr': '|i1', $rest} + 1"
    bad_header 'its header has' "{'descr' '|i1', $rest}"
    bad_header "its header has the key 'descr' twice" "{'descr': '|i1', 'descr': '|i1', $rest}"
    bad_header 'its header has an unknown key' "{'descr': '|i1', 'x': 1, $rest}"
    bad_header "its header lacks the key 'descr'" "{$rest}"
    bad_header "its header lacks the key 'shape'" "{'descr': '|i1', 'fortran_order': False}"
    bad_header "its header lacks the key 'descr'" '{}'
    bad_header 'its header ends' ''
    bad_header 'its header ends' "{'descr': '|i1', $rest"
    bad_header 'its header ends' "{'descr': '|i1', 'fortran_order': False, 'shape': (7, "
    bad_header 'its shape is a number' "{'descr': '|i1', 'fortran_order': False, 'shape': (91)}"
    bad_header 'its shape has a negative size' "{'descr': '|i1', 'fortran_order': False, 'shape': (-7, 13)}"
    bad_header 'its shape has a negative size' "{'descr': '|i1', 'fortran_order': False, 'shape': (-7, -13)}"
    bad_header 'its shape has a size beyond' "{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775808,)}"
    bad_header 'its shape asks for more' "{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775807, 13)}"
    bad_header 'its shape asks for more' "{'descr': '|i1', 'fortran_order': False, 'shape': (4294967296, 2147483648)}"
    bad_header 'it is cut short' "{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775807,)}"
    bad_header 'it is cut short' "{'descr': '|i1', 'fortran_order': False, 'shape': (7, 14)}"
    bad_header 'it is too long' "{'descr': '|i1', 'fortran_order': False, 'shape': (7, 12)}"
    bad_header 'it is too long' "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 13)}"
    bad_header 'its shape has more than' "{'descr': '|i1', 'fortran_order': False, 'shape': ($(printf '1,%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33))}"
    bad_header 'its header has' "{'descr': '|i1', 'fortran_order': False, 'shape': $(awk 'BEGIN { for (i = 0; i < 20000; i++) printf "(" }')"
    bad_header 'it is of version 4.0' "{'descr': '|i1', $rest}" 4
    raw bad.npy 1 "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1, 7, 13)}" ../data
    refuse 'four dimensions' 'A has 4 dimensions' 1 multiply bad.npy b.npy -o new
    raw big.npy 1 "{'descr': '|i1', 'fortran_order': False, 'shape': (4611686018427387904, 0)}"
    raw wide.npy 1 "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 4611686018427387904)}"
    refuse 'a product beyond all files' 'no file could hold' 1 multiply big.npy wide.npy -o new
    raw wide.npy 1 "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 1)}"
    run multiply big.npy wide.npy -o new
    check 'a product beyond all disks' 1 ''
    try 'code in a header is not run' [ ! -e pwned ]
    try 'no output was written' [ ! -e new ]
}

cut_files() {
    "$make" whole.npy '|i1' C 1 7x13 a
    "$make" b.npy '|i1' C 1 13x5 b
    size=$(wc -c <whole.npy)
    at=0 wrong=
    while [ $at -lt "$size" ]; do
        head -c $at whole.npy >cut.npy
        run multiply cut.npy b.npy -o new
        [ $status -eq 1 ] && grep -q "^tessera: could not read 'cut.npy': it" ../err && [ ! -e new ] || wrong="$wrong $at"
        at=$((at + 1))
    done
    try 'a file cut after any byte is refused' [ -z "$wrong" ]
    printf x | cat whole.npy - >cut.npy
    refuse 'a byte too many' '1 bytes follow' 1 multiply cut.npy b.npy -o new
    printf 'PK\003\004' >cut.npy
    refuse 'another kind of file' 'does not begin as' 1 multiply cut.npy b.npy -o new
    refuse 'as B' "could not read 'cut.npy'" 1 multiply whole.npy cut.npy -o new
}

# Runs the command as a user who may not do everything.
weak() {
    ran="tessera $*, as another user"
    if [ "$(id -u)" -ne 0 ]; then "$tessera" "$@"
    else setpriv --reuid=65534 --regid=65534 --clear-groups "$tessera" "$@"; fi >../out 2>../err </dev/null
    status=$?
}

files_that_are_none() {
    "$make" a.npy '<f4' C 1 64x64 a
    "$make" b.npy '<f4' C 1 64x64 b
    "$make" ../want '<f4' C 1 64x64 ab:64
    mkfifo pipe
    mkdir dir
    refuse 'missing' "could not open 'nowhere.npy'" 1 multiply nowhere.npy b.npy -o new
    refuse 'a directory' 'it is a directory' 1 multiply dir b.npy -o new
    refuse 'a pipe' 'it is a pipe' 1 multiply pipe b.npy -o new
    refuse 'a device' 'it is a device' 1 multiply a.npy /dev/zero -o new
    refuse 'output: a directory' 'it is a directory' 1 multiply a.npy b.npy -o dir
    refuse 'output: a pipe' 'not a regular file' 1 multiply a.npy b.npy -o pipe
    refuse 'output: a device' 'not a regular file' 1 multiply a.npy b.npy -o /dev/full
    refuse 'output: no directory' "could not write 'no/c.npy'" 1 multiply a.npy b.npy -o no/c.npy
    refuse 'output: below a file' "could not write 'a.npy/c.npy'" 1 multiply a.npy b.npy -o a.npy/c.npy
    refuse 'output: no place for files' "could not write '/proc/c.npy'" 1 multiply a.npy b.npy -o /proc/c.npy
    ln -s nowhere dangling
    refuse 'output: a link to nothing' 'leads nowhere' 1 multiply a.npy b.npy -o dangling
    cp a.npy ../kept
    ln -s a.npy link
    ln b.npy hard
    for output in a.npy ./a.npy dir/../a.npy link hard b.npy; do
        refuse "output is an input, as $output" 'same file as the input' 1 multiply a.npy b.npy -o $output
    done
    refuse 'output is an input, to accumulate' 'same file as the input' 1 multiply a.npy b.npy --accumulate -o a.npy
    same 'an input is as it was' ../kept a.npy
    if weak --version && [ $status -eq 0 ]; then
        chmod 000 dir
        cp b.npy secret.npy
        chmod 000 secret.npy
        weak multiply a.npy secret.npy -o none.npy
        check 'an input that may not be read' 1 "could not open 'secret.npy': Permission denied"
        weak multiply a.npy b.npy -o dir/c.npy
        check 'a directory that may not be written' 1 "could not write 'dir/c.npy'"
        chmod 755 dir
        rm -f secret.npy
    else skip 'files without permission: cannot become another user'; fi
}
