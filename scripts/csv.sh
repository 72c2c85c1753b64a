# scripts/csv.sh: reading CSV with awk. Sourced.

# plain_csv FILE...: the rows without comments and quotes; commas inside a quoted field become blanks, so that each comma left
# ends a field.
plain_csv() {
    cat "$@" | awk '
        /^#/ { next }
        {
            line = ""
            count = split($0, part, "\"")
            for (i = 1; i <= count; i++) {
                if (i % 2 == 0) gsub(/,/, " ", part[i])
                line = line part[i]
            }
            print line
        }'
}
