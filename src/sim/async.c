/* async.c: the queues of cp.async, one a thread. Groups are numbered, and copies stand in the order of their
 * groups. */
#include "async.h"

#include <string.h>

#include "../memory.h"
#include "trace.h"

/* Makes room for one more copy: where others have arrived, or twice as much. */
static void make_room(sim_worker *worker, sim_thread *me) {
    if (me->first > me->room / 2) {
        me->count -= me->first;
        memmove(me->copies, me->copies + me->first, (size_t)me->count * sizeof *me->copies);
        me->first = 0;
        return;
    }
    int room = me->room ? 2 * me->room : 32;
    async_copy *larger = memory_alloc((size_t)room * sizeof *larger);
    if (!larger) {
        status_fail(worker->why, TESS_ERROR_MEMORY, "no memory for %d copies of one thread", room);
        worker_stop(worker, TESS_ERROR_MEMORY);
    }
    if (me->count) memcpy(larger, me->copies, (size_t)me->count * sizeof *larger);
    memory_free(me->copies);
    me->copies = larger;
    me->room = room;
}

void async_queue(sim_here *here, void *to, const void *from, int bytes, int present, int line,
                 const void *site) {
    sim_worker *worker = (sim_worker *)here;
    sim_thread *me = worker->running;
    async_copy copy = {to, from, bytes, present, line, me->group, (uintptr_t)site};
    if (worker->trace) trace_copy_queued(worker, &copy);
    if (me->count == me->room) make_room(worker, me);
    me->copies[me->count++] = copy;
}

void async_commit(sim_here *here) {
    ((sim_worker *)here)->running->group++;
}

static void arrive(sim_worker *worker, const async_copy *copy) {
    if (worker->trace) trace_copy_arrives(worker, copy);
    if (copy->present > 0) memcpy(copy->to, copy->from, (size_t)copy->present);
    memset((char *)copy->to + copy->present, 0, (size_t)(copy->bytes - copy->present));
}

/* Makes the copies of the groups before `group`. */
static void arrive_before(sim_worker *worker, sim_thread *me, uint32_t group) {
    while (me->first < me->count && me->copies[me->first].group < group)
        arrive(worker, &me->copies[me->first++]);
    if (me->first < me->count) return;
    me->first = me->count = 0;
}

void async_wait(sim_here *here, int pending) {
    sim_worker *worker = (sim_worker *)here;
    sim_thread *me = worker->running;
    if (me->group > (uint32_t)pending) arrive_before(worker, me, me->group - (uint32_t)pending);
}

void async_finish(sim_worker *worker, sim_thread *thread) {
    arrive_before(worker, thread, UINT32_MAX);
    thread->group = 0;
}
