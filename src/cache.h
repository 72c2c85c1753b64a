/* cache.h: compiled code, kept on disk from one run to the next.
 *
 * The key is everything the result depends on, as text; an entry gives its data only to the whole key,
 * byte for byte. The cache is a help and never a need: whatever goes wrong with it, the answer is that
 * nothing is there, and nothing is kept. Safe with any number of processes and threads at once. */
#ifndef CACHE_H
#define CACHE_H

#include "status.h"

typedef struct cache_key {
    const char *stem, *extension; /* what the file is called: stem-HASH.extension; letters, digits and _ */
    const void *text;
    size_t size;
} cache_key;

/* Returns 1 and the data, which the caller frees with memory_free, if there is such an entry; else 0. */
int cache_read(const cache_key *key, void **data, size_t *size);

/* Keeps the data, if that can be done. */
void cache_write(const cache_key *key, const void *data, size_t size);

/* Before what is not there is made: waits while another process or thread makes it, so that of many that start together
 * one does the work; then look again. After a minute, or where there is no directory to wait in, everybody makes his own.
 * Returns what cache_end takes. */
int cache_begin(const cache_key *key);
void cache_end(const cache_key *key, int turn);

#endif
