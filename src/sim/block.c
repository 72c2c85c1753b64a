/* block.c: taking turns.
 *
 * The invariant: a thread that is alive is running, ready (its bit in its warp's `ready`), waiting at the
 * barrier (counted in `waiting`) or waiting for its warp (its bit in `met`). */
#include "block.h"

#include "../split.h"
#include "async.h"
#include "fragments.h"
#include "trace.h"

/* ---- Turns ---- */

/* The one after `next` will be wanted soon: its registers are fetched in advance. */
static void resume(sim_worker *worker, sim_thread *next) {
    fiber_expect(&next[next->number + 1 < worker->threads].context);
    worker->running = next;
    worker->here.thread = next->index;
}

/* The thread whose turn it is: of the same warp if one is ready there, else of the next warp that has one. */
static sim_thread *next_ready(sim_worker *worker, int warp) {
    for (int i = 0; i <= worker->warp_count; i++, warp++) {
        if (warp == worker->warp_count) warp = 0;
        uint32_t ready = worker->warps[warp].ready;
        if (ready) return &worker->all[warp * BLOCK_LANES + __builtin_ctz(ready)];
    }
    return NULL;
}

static void switch_away(sim_worker *worker) {
    sim_thread *me = worker->running, *next = next_ready(worker, me->warp);
    if (worker->trace && (!next || next->warp != me->warp)) trace_warp_stops(worker);
    if (next == me) return;
    if (!next && worker->alive > 0) trace_deadlock(worker);
    if (next) resume(worker, next);
    fiber_switch(&me->context, next ? &next->context : &worker->home);
}

/* Leaves the running thread, which has said what it waits for, and comes back when that is there. */
static void leave(sim_worker *worker) {
    switch_away(worker);
    if (worker->trace) trace_goes_on(worker);
}

/* ---- The barrier ---- */

static void release_barrier(sim_worker *worker) {
    if (worker->trace) trace_barrier(worker);
    worker->waiting = 0;
    for (int i = 0; i < worker->warp_count; i++) worker->warps[i].ready = worker->warps[i].alive;
}

static void barrier(sim_here *here, int line) {
    sim_worker *worker = (sim_worker *)here;
    sim_thread *me = worker->running;
    me->line = line;
    worker->warps[me->warp].ready &= ~(1u << me->lane);
    if (++worker->waiting == worker->alive) release_barrier(worker);
    leave(worker);
}

/* ---- Meetings of a warp ---- */

/* The lane a shuffle reads, or the lane itself where there is none. */
static int source_lane(const sim_lane *ask, int lane) {
    int first = lane / ask->width * ask->width, from = lane;
    switch (ask->operation) {
    case SIM_SHUFFLE_INDEX: from = first + (ask->operand & (ask->width - 1)); break;
    case SIM_SHUFFLE_UP: from = lane - ask->operand; break;
    case SIM_SHUFFLE_DOWN: from = lane + ask->operand; break;
    case SIM_SHUFFLE_XOR: from = lane ^ ask->operand; break;
    default: break;
    }
    return from < first || from >= first + ask->width ? lane : from;
}

/* Gives every lane of a complete meeting its value. */
static void settle(sim_warp *warp, uint32_t lanes) {
    uint64_t given[BLOCK_LANES], votes = 0;
    for (int lane = 0; lane < BLOCK_LANES; lane++)
        if (lanes >> lane & 1 && warp->lanes[lane].value) votes |= 1ull << lane;
    for (int lane = 0; lane < BLOCK_LANES; lane++) {
        const sim_lane *ask = &warp->lanes[lane];
        if (!(lanes >> lane & 1)) continue;
        given[lane] = ask->operation == SIM_VOTE ? votes : warp->lanes[source_lane(ask, lane)].value;
    }
    for (int lane = 0; lane < BLOCK_LANES; lane++)
        if (lanes >> lane & 1) warp->lanes[lane].value = given[lane];
}

/* Whether every living lane that `mask` names has come; lanes the block does not have are not waited for. */
static int is_complete(const sim_warp *warp, uint32_t mask) {
    return (warp->met & mask) == (warp->alive & mask);
}

/* Tensor cores may begin when all lanes are there; that says nothing about what the lanes wrote before, so it
 * is not counted as a meeting, which would. */
static void complete(sim_worker *worker, sim_warp *warp, uint32_t lanes) {
    int tensor = 0;
    for (int lane = 0; lane < BLOCK_LANES; lane++)
        tensor |= lanes >> lane & 1 && warp->lanes[lane].operation == SIM_TENSOR;
    if (worker->trace) trace_warp_stops(worker);
    if (tensor) {
        fragments_settle(worker, warp);
    } else {
        settle(warp, lanes);
        warp->meetings++;
    }
    warp->met &= ~lanes;
    warp->ready |= lanes;
}

/* Leaves what the running lane asks for with its warp, and waits until the lanes it names have come. */
static uint64_t rendezvous(sim_worker *worker, sim_lane ask) {
    sim_thread *me = worker->running;
    sim_warp *warp = &worker->warps[me->warp];
    warp->lanes[me->lane] = ask;
    warp->met |= 1u << me->lane;
    warp->ready &= ~(1u << me->lane);
    if (is_complete(warp, ask.mask)) complete(worker, warp, warp->met & ask.mask);
    leave(worker);
    return warp->lanes[me->lane].value;
}

static unsigned long long meet(sim_here *here, unsigned mask, int operation, unsigned long long value,
                               int operand, int width, int line) {
    sim_worker *worker = (sim_worker *)here;
    worker->running->line = line;
    if (worker->trace) trace_meeting(worker, mask);
    return rendezvous(worker, (sim_lane){mask, operation, operand, width, value});
}

static void tensor(sim_here *here, sim_tensor *ask) {
    sim_worker *worker = (sim_worker *)here;
    const uint32_t all = 0xffffffffu;
    worker->running->line = ask->line;
    if (worker->trace) {
        trace_meeting(worker, all);
        fragments_announce(worker, ask);
    }
    rendezvous(worker, (sim_lane){all, SIM_TENSOR, 0, BLOCK_LANES, (uintptr_t)ask});
}

const sim_calls block_calls = {
    .barrier = barrier,
    .meet = meet,
    .copy = async_queue,
    .commit = async_commit,
    .wait = async_wait,
    .tensor = tensor,
    .bounds = trace_bounds,
};

/* ---- Blocks ---- */

/* The running thread has returned from the kernel. */
static void finish_thread(sim_worker *worker) {
    sim_thread *me = worker->running;
    sim_warp *warp = &worker->warps[me->warp];
    async_finish(worker, me);
    warp->alive &= ~(1u << me->lane);
    warp->ready &= ~(1u << me->lane);
    worker->alive--;
    if (worker->trace && worker->alive == 0) trace_block_ends(worker);
    if (worker->alive > 0 && worker->waiting == worker->alive) release_barrier(worker);
    leave(worker);
}

static _Thread_local sim_worker *of_this_thread;

/* What every fiber runs: the kernel, block after block. */
static void thread_main(void) {
    sim_worker *worker = of_this_thread;
    for (;;) {
        const sim_launch *launch = worker->launch;
        if (worker->trace) trace_goes_on(worker);
        if (launch->moves == 2)
            ((void (*)(launch_moves))launch->kernel)(*(const launch_moves *)launch->arguments);
        else if (launch->moves)
            ((void (*)(launch_move))launch->kernel)(*(const launch_move *)launch->arguments);
        else if (launch->splits)
            ((void (*)(split_arguments))launch->kernel)(*(const split_arguments *)launch->arguments);
        else
            ((void (*)(launch_gemm))launch->kernel)(*(const launch_gemm *)launch->arguments);
        finish_thread(worker);
    }
}

/* Stacks begin with the address of the worker's `here` (port_sim.h). They end at different distances from
 * their beginnings: otherwise what the threads use most would fall on the same few lines of the caches. */
static void make_stack(sim_worker *worker, sim_thread *t) {
    enum { HEAD = 64, SHADES = 128, SHADE = 448 };
    uintptr_t first = ((uintptr_t)worker->stacks + SIM_STACK - 1) & ~(uintptr_t)(SIM_STACK - 1);
    char *stack = (char *)first + (size_t)t->number * SIM_STACK;
    *(sim_here **)stack = &worker->here;
    fiber_make(&t->context, stack + HEAD, SIM_STACK - HEAD - (size_t)(t->number % SHADES) * SHADE,
               thread_main);
}

void block_begin(sim_worker *worker, const sim_launch *launch, sentence *why) {
    worker->launch = launch;
    worker->why = why;
    worker->threads = launch->block_x * launch->block_y;
    worker->warp_count = (worker->threads + BLOCK_LANES - 1) / BLOCK_LANES;
    worker->here.calls = &block_calls;
    worker->here.access = trace_access;
    worker->here.dynamic = worker->dynamic;
    worker->here.block_dim = (sim_index){(unsigned)launch->block_x, (unsigned)launch->block_y, 1};
    worker->here.grid_dim = (sim_index){launch->grid[0], launch->grid[1], launch->grid[2]};
    of_this_thread = worker;
    fiber_adopt(&worker->home);
    for (int i = 0; i < worker->threads; i++) {
        sim_thread *t = &worker->all[i];
        t->number = i, t->lane = i % BLOCK_LANES, t->warp = i / BLOCK_LANES;
        t->index = (sim_index){(unsigned)(i % launch->block_x), (unsigned)(i / launch->block_x), 0};
        t->first = t->count = 0;
        t->group = 0;
        make_stack(worker, t);
    }
}

tess_status block_run(sim_worker *worker, unsigned x, unsigned y, unsigned z) {
    worker->here.block = (sim_index){x, y, z};
    worker->alive = worker->threads;
    worker->waiting = 0;
    worker->stopped = 0;
    for (int i = 0; i < worker->warp_count; i++) {
        int lanes = worker->threads - i * BLOCK_LANES;
        sim_warp *warp = &worker->warps[i];
        warp->alive = warp->ready = lanes >= BLOCK_LANES ? 0xffffffffu : (1u << lanes) - 1;
        warp->met = 0;
    }
    if (worker->trace) trace_block(worker);
    resume(worker, &worker->all[0]);
    fiber_switch(&worker->home, &worker->all[0].context);
    return worker->stopped ? worker->status : TESS_OK;
}
