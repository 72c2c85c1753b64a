/* nearest.h: which known name somebody probably meant. */
#ifndef NEAREST_H
#define NEAREST_H

#include <stddef.h>

/* The number of single-letter changes (insert, delete, replace, swap neighbours) between two words. */
size_t nearest_distance(const char *a, const char *b);

/* The index of the name nearest to `word`, or -1 if none is near enough to be worth suggesting. */
int nearest_name(const char *word, const char *const *names, size_t count);

#endif
