/* report.h: what was found, as sentences. Each stops the block and does not return. */
#ifndef REPORT_H
#define REPORT_H

#include "tensor_core.h"
#include "trace_state.h"

/* A place in the code: an instruction of the module, or a line. */
enum { REPORT_IS_LINE = (int)0x80000000u };
static inline uint32_t report_line(int line) {
    return (uint32_t)REPORT_IS_LINE | (uint32_t)line;
}

void report_shared(sim_worker *worker, shadow_fault fault, uint32_t offset, int writes,
                   const shadow_cell *cell, uint32_t site) __attribute__((noreturn));
/* Shared memory that nobody had written when it was read, or has since. */
void report_early_read(sim_worker *worker, const trace_early_read *read) __attribute__((noreturn));
void report_global(sim_worker *worker, region_fault fault, const region *found, const char *at,
                   unsigned bytes, int writes, uint32_t site) __attribute__((noreturn));
void report_misaligned(sim_worker *worker, uintptr_t at, unsigned bytes, int writes, uint32_t site)
    __attribute__((noreturn));
void report_bounds(sim_worker *worker, uint32_t site, long long index) __attribute__((noreturn));
/* An access, or a copy, that ends beyond shared memory. */
void report_past_shared(sim_worker *worker, uint32_t offset, unsigned bytes, int writes, uint32_t site)
    __attribute__((noreturn));
void report_copy_target(sim_worker *worker, uint32_t site) __attribute__((noreturn));
/* `other` waits elsewhere, or has ended (`ended`). */
void report_divergent(sim_worker *worker, const sim_thread *waiting, const sim_thread *other, int ended)
    __attribute__((noreturn));
void report_mask(sim_worker *worker, unsigned mask, int lane, const char *what) __attribute__((noreturn));
/* Two lanes of the running warp that do not do the same with tensor cores; what the other does instead. */
void report_apart(sim_worker *worker, int lane, int other, const char *does) __attribute__((noreturn));
/* An address that is not in the memory the instruction is for. */
void report_space(sim_worker *worker, const sim_tensor *ask) __attribute__((noreturn));
/* The matrix of a wmma begins `past` bytes past a multiple of `unit`, with rows `distance` bytes apart. */
void report_wmma_address(sim_worker *worker, const sim_tensor *ask, unsigned past, unsigned unit,
                         int64_t distance) __attribute__((noreturn));
void report_deadlock(sim_worker *worker) __attribute__((noreturn));

/* Not within a block: an element of C that nobody wrote. */
tess_status report_unwritten(const trace_checks *checks, sentence *why);

#endif
