/* async.h: cp.async. A copy is queued when it is asked for and made when it is waited for, so that a kernel
 * that does not wait reads what was there before. */
#ifndef ASYNC_H
#define ASYNC_H

#include "worker.h"

void async_queue(sim_here *here, void *to, const void *from, int bytes, int present, int line,
                 const void *site);
void async_commit(sim_here *here);
/* Makes the copies of all but the newest `pending` groups. */
void async_wait(sim_here *here, int pending);
/* A thread ends: what is still on its way arrives. */
void async_finish(sim_worker *worker, sim_thread *thread);

#endif
