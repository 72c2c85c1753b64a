/* fiber.c: making stacks and switching between them.
 *
 * A fiber that is not running has its registers on its own stack, at `top`, in the order fiber_swap pops
 * them; a new one is given a frame that looks as if it had switched away just before its first instruction.
 */
#include "fiber.h"

#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <pthread.h>
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
void __asan_unpoison_memory_region(void const volatile *address, size_t size);

static void before_switch(fiber *from, fiber *to) {
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->size);
}
/* On the stack that was switched to; a fiber that begins has no fake stack yet. */
static void after_switch(fiber *now) {
    __sanitizer_finish_switch_fiber(now ? now->fake : NULL, NULL, NULL);
}
static void find_stack(fiber *f) {
    pthread_attr_t facts;
    if (pthread_getattr_np(pthread_self(), &facts) != 0) return;
    pthread_attr_getstack(&facts, &f->stack, &f->size);
    pthread_attr_destroy(&facts);
}
/* A stack may still bear the marks of frames that were left for good. */
static void clean_stack(void *stack, size_t size) {
    __asan_unpoison_memory_region(stack, size);
}
#else
static void before_switch(fiber *from, fiber *to) {
    (void)from, (void)to;
}
static void after_switch(fiber *now) {
    (void)now;
}
static void find_stack(fiber *f) {
    (void)f;
}
static void clean_stack(void *stack, size_t size) {
    (void)stack, (void)size;
}
#endif

void fiber_adopt(fiber *f) {
    memset(f, 0, sizeof *f);
    find_stack(f);
}

#if FIBER_USES_UCONTEXT

/* makecontext passes only ints, so the entry travels in two halves. */
static void begin(unsigned high, unsigned low) {
    after_switch(NULL);
    uintptr_t address = (uintptr_t)high << 16 << 16 | low;
    ((void (*)(void))address)();
}

void fiber_make(fiber *f, void *stack, size_t size, void (*entry)(void)) {
    uintptr_t address = (uintptr_t)entry;
    clean_stack(stack, size);
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = size;
    f->context.uc_link = NULL;
    f->stack = stack;
    f->size = size;
    makecontext(&f->context, (void (*)(void))begin, 2, (unsigned)(address >> 16 >> 16), (unsigned)address);
}

void fiber_switch(fiber *from, fiber *to) {
    before_switch(from, to);
    swapcontext(&from->context, &to->context);
    after_switch(from);
}

#else

/* Pushes the preserved registers, leaves the stack pointer in *save, takes `load` for it, and pops. */
void fiber_swap(void **save, void *load);
/* The first instructions of a fiber: `begin` with its entry as the argument. */
void fiber_start(void);

#if defined(__aarch64__)

enum { FRAME = 160, AT_ENTRY = 0, AT_RETURN = 88 }; /* x19 and x30 */

__asm__(".text\n"
        ".p2align 4\n.hidden fiber_swap\n"
        ".globl fiber_swap\n"
        ".type fiber_swap, %function\n"
        "fiber_swap:\n    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n"
        "    mov sp, x1\n    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n.size fiber_swap, .-fiber_swap\n"
        ".p2align 4\n.hidden fiber_start\n"
        ".globl fiber_start\n"
        ".type fiber_start, %function\n"
        "fiber_start:\n    mov x0, x19\n"
        "    mov x30, xzr\n"
        "    b fiber_begin\n"
        ".size fiber_start, .-fiber_start\n");

#else /* x86-64 */

/* Six registers, the return address, and one word more: a function begins eight bytes off a multiple of
 * sixteen. */
enum { FRAME = 64, AT_ENTRY = 32, AT_RETURN = 48 }; /* rbx and the return address */

__asm__(".text\n"
        ".p2align 4\n.hidden fiber_swap\n"
        ".globl fiber_swap\n"
        ".type fiber_swap, @function\n"
        "fiber_swap:\n    pushq %rbp\n"
        "    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n"
        "    pushq %r15\n    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n"
        "    popq %r13\n    popq %r12\n"
        "    popq %rbx\n    popq %rbp\n"
        "    ret\n.size fiber_swap, .-fiber_swap\n"
        ".p2align 4\n.hidden fiber_start\n"
        ".globl fiber_start\n"
        ".type fiber_start, @function\n"
        "fiber_start:\n    movq %rbx, %rdi\n"
        "    jmp fiber_begin\n"
        ".size fiber_start, .-fiber_start\n");

#endif

__attribute__((used, visibility("hidden"))) void fiber_begin(void (*entry)(void));

void fiber_begin(void (*entry)(void)) {
    after_switch(NULL);
    entry();
}

void fiber_make(fiber *f, void *stack, size_t size, void (*entry)(void)) {
    uintptr_t end = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    char *frame = (char *)end - FRAME;
    void (*start)(void) = fiber_start;
    clean_stack(stack, size);
    memset(frame, 0, FRAME);
    memcpy(frame + AT_ENTRY, &entry, sizeof entry);
    memcpy(frame + AT_RETURN, &start, sizeof start);
    f->top = frame;
    f->stack = stack;
    f->size = size;
    f->fake = NULL;
}

void fiber_switch(fiber *from, fiber *to) {
    before_switch(from, to);
    fiber_swap(&from->top, to->top);
    after_switch(from);
}

#endif
