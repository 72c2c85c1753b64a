/* bench_peers.h: whom bench compares with. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench.h"

/* Finds the peers of --peer, or with NULL those of $TESSERA_PEER or the first there is. Returns EXIT_FINE,
 * or what to exit with after a sentence. */
int bench_read_peers(bench_request *r, const char *text);

#endif
