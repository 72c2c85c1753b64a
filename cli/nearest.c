/* nearest.c: spelling suggestions by edit distance.
 *
 * Invariant: words longer than LONGEST are never near anything, so the table of distances has a fixed size.
 */
#include "nearest.h"

#include <string.h>

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b) {
    size_t rows = strlen(a), cols = strlen(b);
    if (rows > LONGEST || cols > LONGEST) return LONGEST;
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++) d[i][0] = i;
    for (size_t j = 0; j <= cols; j++) d[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= cols; j++) {
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[rows][cols];
}

int nearest_name(const char *word, const char *const *names, size_t count) {
    size_t length = strlen(word);
    size_t best = length < 3 ? 1 : length / 3 + 1;
    int found = -1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = nearest_distance(word, names[i]);
        /* The beginning of a name is a better hint than any misspelling. */
        if (length >= 2 && strncmp(word, names[i], length) == 0) distance = 0;
        if (distance < best || (distance == best && found < 0 && distance < strlen(names[i]))) {
            best = distance;
            found = (int)i;
        }
    }
    return found;
}
