/* port_sim.h: the simulator's side of kernels/port.h: what gcc or clang see where NVRTC sees CUDA.
 *
 * A kernel becomes a module, a small shared object that the simulator loads. __shared__ variables are
 * thread-local there, so that every worker of the simulator, which runs one block at a time, has its own;
 * they are all of the module's zero-initialised thread-local memory, which is how the simulator finds them.
 * Everything a thread asks of its block goes through the table `sim_calls` of the worker's `sim_here`. With
 * SIM_TRACED gcc announces every access to memory first, by the functions that its thread sanitizer uses;
 * they are defined here, so that nothing else has to be linked.
 *
 * The simulator itself includes this file with SIM_HOST defined, and sees the first part only. */
#ifndef PORT_SIM_H
#define PORT_SIM_H

/* ---- What the two sides share ---- */

typedef struct sim_index {
    unsigned x, y, z;
} sim_index;

typedef struct sim_here sim_here;
struct sim_tensor; /* tensor_sim.h */

/* A CUDA thread's stack begins at a multiple of this, with the address of the worker's `sim_here`. */
enum { SIM_STACK = 1 << 17 };

enum { SIM_SHUFFLE_INDEX, SIM_SHUFFLE_UP, SIM_SHUFFLE_DOWN, SIM_SHUFFLE_XOR, SIM_VOTE, SIM_TENSOR };
/* How an access is announced: its bytes, and these bits: it writes; it is a part of an instruction for tensor
 * cores, which the compiler leaves as it is. */
enum { SIM_WRITE = 1 << 16, SIM_FIXED = 1 << 17 };

typedef struct sim_calls {
    void (*barrier)(sim_here *here, int line);
    /* A rendezvous of the lanes in `mask`; returns the value this lane is given. */
    unsigned long long (*meet)(sim_here *here, unsigned mask, int operation, unsigned long long value,
                               int operand, int width, int line);
    /* Queues a copy; of its bytes `present` are read and zeros follow. */
    void (*copy)(sim_here *here, void *to, const void *from, int bytes, int present, int line,
                 const void *site);
    void (*commit)(sim_here *here);
    void (*wait)(sim_here *here, int pending);
    /* A rendezvous of all lanes, for an instruction that they execute together. */
    void (*tensor)(sim_here *here, struct sim_tensor *ask);
    /* Traced modules only. */
    void (*bounds)(sim_here *here, unsigned line, long long index);
} sim_calls;

/* Where the running thread is: the simulator changes it at every switch. */
struct sim_here {
    sim_index thread, block, block_dim, grid_dim;
    void *dynamic; /* the block's dynamic shared memory */
    const sim_calls *calls;
    /* Announces an access; `site` is the address after the announcing call. A kind of 0 is no access but a
     * step: the thread has come to a branch's end (SIM_STEPS). Traced modules only. */
    void (*access)(sim_here *here, const void *at, unsigned kind, const void *site);
};

#ifndef SIM_HOST

#if defined(SIM_TRACED) && (!defined(__GNUC__) || defined(__clang__))
#error "every access is traced by gcc only"
#endif

/* ---- The connection ---- */

typedef sim_index uint3, dim3;

/* What comes before the shared variables: not zero, so that it lies apart from them, and 64 bytes, so that
 * they begin aligned. */
static __thread struct {
    sim_here *here;
    char room[56];
} sim_own __attribute__((aligned(64))) = {(sim_here *)64, {0}};

#ifndef SIM_STEPS
#define SIM_STEPLESS
#elif __GNUC__ < 12
#error "steps are recorded by gcc 12 and later"
#else
#define SIM_STEPLESS __attribute__((no_sanitize_coverage))
#endif
#define SIM_HIDDEN \
    __attribute__((visibility("hidden"), no_sanitize("thread"), no_sanitize("undefined"))) SIM_STEPLESS
#define SIM_EXPORT   __attribute__((visibility("default")))
#define SIM_UNTRACED __attribute__((unused, no_sanitize("thread"), no_sanitize("undefined"))) SIM_STEPLESS

/* The way to `sim_here`: where it is asked for at every access, by the stack, which is in use anyway. */
#if !defined(SIM_TRACED)
#define SIM_HERE (sim_own.here)
#else
#define SIM_HERE (*(sim_here **)(sim_sp & -(unsigned long)SIM_STACK))
#if defined(__aarch64__)
register unsigned long sim_sp __asm__("sp");
#elif defined(__x86_64__)
register unsigned long sim_sp __asm__("rsp");
#else
#define sim_sp ((unsigned long)__builtin_frame_address(0))
#endif
#endif

#ifdef SIM_STEPS
static int sim_entered;
#endif

/* Called on each worker before it runs blocks; returns where it has its shared variables. */
SIM_EXPORT SIM_UNTRACED char *sim_enter(sim_here *here) {
#ifdef SIM_STEPS
    sim_entered = 1;
#endif
    sim_own.here = here;
    return (char *)(&sim_own + 1);
}

/* Constant as long as a thread runs, which is all a kernel can see. */
#define SIM_POSITION(name, field)                                                       \
    static inline SIM_UNTRACED __attribute__((const)) sim_index sim_read_##name(void) { \
        return SIM_HERE->field;                                                         \
    }
SIM_POSITION(thread, thread)
SIM_POSITION(block, block)
SIM_POSITION(block_dim, block_dim)
SIM_POSITION(grid_dim, grid_dim)
#define threadIdx (sim_read_thread())
#define blockIdx  (sim_read_block())
#define blockDim  (sim_read_block_dim())
#define gridDim   (sim_read_grid_dim())
#define warpSize  32

/* ---- The words of port.h ---- */

#define KERNEL(threads)          SIM_EXPORT void
#define KERNEL2(threads, blocks) SIM_EXPORT void
#define DEVICE                   static inline __attribute__((always_inline, unused))
#define ALIGNED(bytes)           __attribute__((aligned(bytes)))
#define __shared__               static __thread
/* Loops that are written out take no steps; only short ones are, for the sake of the compiler's time. */
#ifdef SIM_STEPS
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif
#define UNROLL_BY(count)
#define fma_f32(a, b, c) __builtin_fmaf(a, b, c)
#define fma_f64(a, b, c) __builtin_fma(a, b, c)

DEVICE float float_of_bits(unsigned bits) {
    union {
        unsigned bits;
        float value;
    } both = {bits};
    return both.value;
}
DEVICE unsigned bits_of_float(float value) {
    union {
        float value;
        unsigned bits;
    } both = {value};
    return both.bits;
}

static inline SIM_UNTRACED __attribute__((const)) void *sim_dynamic(void) {
    return SIM_HERE->dynamic;
}
#define DYNAMIC_SHARED(type, name) type *const name = (type *)sim_dynamic()

static SIM_UNTRACED void sim_barrier(int line) {
    sim_here *here = SIM_HERE;
    here->calls->barrier(here, line);
}
#define __syncthreads() sim_barrier(__LINE__)

static SIM_UNTRACED void sim_copy(void *to, const void *from, int bytes, int present, int line) {
    sim_here *here = SIM_HERE;
    here->calls->copy(here, to, from, bytes, present, line, __builtin_return_address(0));
}
static SIM_UNTRACED void sim_commit(void) {
    sim_here *here = SIM_HERE;
    here->calls->commit(here);
}
static SIM_UNTRACED void sim_wait(int pending) {
    sim_here *here = SIM_HERE;
    here->calls->wait(here, pending);
}
#define cp_async_first(to, from, bytes, present) sim_copy(to, from, (int)(bytes), (int)(present), __LINE__)
#define cp_async(to, from, bytes, there)         cp_async_first(to, from, bytes, (there) ? (int)(bytes) : 0)
#define cp_commit()                              sim_commit()
#define cp_wait(pending)                         sim_wait(pending)

/* ---- Warps ---- */

static SIM_UNTRACED unsigned long long sim_meet(unsigned mask, int operation, unsigned long long value,
                                                int operand, int width, int line) {
    sim_here *here = SIM_HERE;
    return here->calls->meet(here, mask, operation, value, operand, width, line);
}
/* A value of up to 8 bytes travels as bits. */
#define SIM_SHUFFLE(mask, value, operation, operand, width)                                      \
    (__extension__({                                                                             \
        union {                                                                                  \
            __typeof__((value) + 0) it;                                                          \
            unsigned long long bits;                                                             \
        } sim_box = {.bits = 0};                                                                 \
        sim_box.it = (value);                                                                    \
        sim_box.bits = sim_meet(mask, operation, sim_box.bits, (int)(operand), width, __LINE__); \
        sim_box.it;                                                                              \
    }))
#define __shfl_sync(mask, value, lane)      SIM_SHUFFLE(mask, value, SIM_SHUFFLE_INDEX, lane, 32)
#define __shfl_up_sync(mask, value, by)     SIM_SHUFFLE(mask, value, SIM_SHUFFLE_UP, by, 32)
#define __shfl_down_sync(mask, value, by)   SIM_SHUFFLE(mask, value, SIM_SHUFFLE_DOWN, by, 32)
#define __shfl_xor_sync(mask, value, other) SIM_SHUFFLE(mask, value, SIM_SHUFFLE_XOR, other, 32)
#define shuffle_down(value, by)             __shfl_down_sync(0xffffffffu, value, by)
/* Launches wait for each other. */
#define await_last_kernel()
#define __ballot_sync(mask, predicate) \
    ((unsigned)sim_meet(mask, SIM_VOTE, (predicate) ? 1 : 0, 0, 32, __LINE__))
#define __any_sync(mask, predicate) (__ballot_sync(mask, predicate) != 0)
#define __all_sync(mask, predicate) (__ballot_sync(mask, !(predicate)) == 0)
/* Without a mask all lanes are meant. */
#define SIM_SECOND(first, second, ...) second
#define __syncwarp(...) \
    ((void)sim_meet(SIM_SECOND(0, ##__VA_ARGS__, 0xffffffffu, 0), SIM_VOTE, 0, 0, 32, __LINE__))

/* ---- What gcc calls before an access ---- */

#ifdef SIM_TRACED
/* Most accesses are to the thread's own variables, which are no memory of a GPU: they lie on its stack. */
#define SIM_IS_OWN(at) (((unsigned long)(at) ^ sim_sp) < SIM_STACK)
#define SIM_ANNOUNCE(name, kind)                                   \
    SIM_HIDDEN void name(const void *at) {                         \
        if (SIM_IS_OWN(at)) return;                                \
        sim_here *here = SIM_HERE;                                 \
        here->access(here, at, kind, __builtin_return_address(0)); \
    }
SIM_ANNOUNCE(__tsan_read1, 1)
SIM_ANNOUNCE(__tsan_read2, 2)
SIM_ANNOUNCE(__tsan_read4, 4)
SIM_ANNOUNCE(__tsan_read8, 8)
SIM_ANNOUNCE(__tsan_read16, 16)
SIM_ANNOUNCE(__tsan_write1, 1 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_write2, 2 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_write4, 4 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_write8, 8 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_write16, 16 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_unaligned_read2, 2)
SIM_ANNOUNCE(__tsan_unaligned_read4, 4)
SIM_ANNOUNCE(__tsan_unaligned_read8, 8)
SIM_ANNOUNCE(__tsan_unaligned_read16, 16)
SIM_ANNOUNCE(__tsan_unaligned_write2, 2 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_unaligned_write4, 4 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_unaligned_write8, 8 | SIM_WRITE)
SIM_ANNOUNCE(__tsan_unaligned_write16, 16 | SIM_WRITE)

/* Structs of other sizes, byte by byte: only the product's own description is moved so. */
SIM_HIDDEN void __tsan_read_range(void *start, long bytes) {
    sim_here *here = SIM_HERE;
    for (const char *at = start; bytes > 0; bytes--, at++)
        here->access(here, at, 1, __builtin_return_address(0));
}
SIM_HIDDEN void __tsan_write_range(void *start, long bytes) {
    sim_here *here = SIM_HERE;
    for (const char *at = start; bytes > 0; bytes--, at++)
        here->access(here, at, 1 | SIM_WRITE, __builtin_return_address(0));
}
#ifdef SIM_STEPS
/* What runs while the module is loaded is no kernel, and takes its steps unseen. */
SIM_HIDDEN void __sanitizer_cov_trace_pc(void) {
    if (!sim_entered) return;
    sim_here *here = SIM_HERE;
    here->access(here, 0, 0, __builtin_return_address(0));
}
#endif
SIM_HIDDEN void __tsan_init(void) {}
SIM_HIDDEN void __tsan_func_entry(void *caller) {
    (void)caller;
}
SIM_HIDDEN void __tsan_func_exit(void *unused) {
    (void)unused;
}

/* An index outside an array whose size the compiler knows. */
typedef struct sim_place {
    const char *file;
    unsigned line, column;
} sim_place;
SIM_HIDDEN void __ubsan_handle_out_of_bounds(void *data, void *index) {
    const sim_place *place = data;
    sim_here *here = SIM_HERE;
    here->calls->bounds(here, place->line, (long long)(long)index);
}
#endif

#endif
#endif
