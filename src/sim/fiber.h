/* fiber.h: stacks that take turns on one thread of the system. A switch saves what a called function must
 * preserve and takes some ten nanoseconds; where no assembly is written for the machine, ucontext does the
 * same in 300. */
#ifndef FIBER_H
#define FIBER_H

#include <stddef.h>

/* ucontext is for machines other than these two; a build may ask for it to test it. */
#if (!defined(__aarch64__) && !defined(__x86_64__)) || defined(FIBER_UCONTEXT)
#define FIBER_USES_UCONTEXT 1
#include <ucontext.h>
#else
#define FIBER_USES_UCONTEXT 0
#endif

typedef struct fiber {
#if FIBER_USES_UCONTEXT
    ucontext_t context;
#else
    void *top; /* of its stack, where its registers are */
#endif
    /* For the address sanitizer, which must know whose stack is in use. */
    void *stack, *fake;
    size_t size;
} fiber;

/* Makes `f` the fiber that is running: the stack of the calling thread. */
void fiber_adopt(fiber *f);
/* Makes `f` ready to begin `entry`, which must never return, on a stack of its own. */
void fiber_make(fiber *f, void *stack, size_t size, void (*entry)(void));
/* Leaves `from`, which must be running, and goes on with `to`. Returns when somebody goes on with `from`. */
void fiber_switch(fiber *from, fiber *to);

/* Tells the machine's caches that `f` will be switched to soon. */
static inline void fiber_expect(const fiber *f) {
#if !FIBER_USES_UCONTEXT
    const char *top = f->top;
    for (int line = 0; line < 6; line++) __builtin_prefetch(top + 64 * line);
#else
    (void)f;
#endif
}

#endif
