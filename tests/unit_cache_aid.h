/* unit_cache_aid.h: what the tests of the cache share. Keys and data are texts. */
#ifndef UNIT_CACHE_AID_H
#define UNIT_CACHE_AID_H

#include "scratch.h"
#include "tessera.h"

#include <sys/types.h>

enum { CACHE_LARGE = 300000 };

void cache_put(const char *key, const char *data);
/* Whether the entry is there with this data. Other data fails the test. */
int cache_holds(const char *key, const char *data);
tess_cache_info cache_described(void);

/* How many files of the directory have `part` in their names; the path of one of them, "" if there is
 * none. */
int cache_find(const scratch *s, const char *part, char path[512]);
int cache_count(const scratch *s, const char *part);

/* Runs `body` in a process of its own, as another user if `user` is not 0. The test fails if it does not
 * return 0: a CHECK within prints, but is not counted. */
void cache_in_child(int (*body)(void *), void *context, uid_t user);

/* CACHE_LARGE letters and a zero byte, of which each depends on `number`. */
void cache_fill_large(char *data, int number);

#endif
