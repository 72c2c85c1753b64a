/* peer_search.h: where BLAS libraries may lie. */
#ifndef PEER_SEARCH_H
#define PEER_SEARCH_H

#include "peer.h"

/* Calls `try` with each file that may be the named library, until one call returns true. Names without a
 * slash are for the loader's own search. Each is noted in the trail, which may be NULL. */
bool peer_search_each(const char *name, peer_trail *trail, bool (*try)(void *data, const char *file),
                      void *data);

#endif
