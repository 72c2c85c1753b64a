/* tensor_sim.h: the simulator's side of kernels/tensor.h.
 *
 * Every function is a rendezvous of the warp: a lane says what it asks for, and when all 32 have come the last
 * of them does the work of all (src/sim/fragments.c). So fragments have the layouts of the hardware, and lanes
 * that part are found.
 *
 * The simulator itself includes this file with SIM_HOST defined, and sees the first part only. */
#ifndef TENSOR_SIM_H
#define TENSOR_SIM_H

enum { SIM_LDMATRIX, SIM_MMA, SIM_WMMA_LOAD, SIM_WMMA_MULTIPLY, SIM_WMMA_STORE };
enum { SIM_F16, SIM_BF16, SIM_TF32, SIM_I8, SIM_F64 };

/* What one lane asks for. */
typedef struct sim_tensor {
    int operation, type, line;
    int is_b, turned; /* of a load: it is of B; the matrix lies turned */
    int shared;       /* of wmma_load: it is of shared memory */
    int ld;           /* elements from a row to the next */
    int depth;        /* of an mma of f64: elements of k */
    const void *site; /* the address after the call */
    const void *from;
    void *to; /* fragments or, of a store, memory */
    const void *a, *b;
} sim_tensor;

#ifndef SIM_HOST

#if defined(TYPE_F16) || defined(TYPE_F16_F32)
#define SIM_TYPE SIM_F16
#elif defined(TYPE_BF16) || defined(TYPE_BF16_F32)
#define SIM_TYPE SIM_BF16
#elif defined(TYPE_I8_I32)
#define SIM_TYPE SIM_I8
#else
#define SIM_TYPE SIM_TF32
#endif

#define cp_async_part cp_async_first

/* A place in shared memory as a number: where it begins is 0. */
typedef unsigned shared_t;
#define shared_place(at)                      ((shared_t)((const char *)(at) - (const char *)sim_dynamic()))
#define shared_pointer(place)                 ((void *)((char *)sim_dynamic() + (place)))
#define cp_async_at(to, from, bytes, present) cp_async_part(shared_pointer(to), from, bytes, present)
#define kept(value)                           (value)

static SIM_UNTRACED void sim_ldmatrix(unsigned *to, const void *row, int turned, int line) {
    sim_here *here = SIM_HERE;
    sim_tensor ask = {.operation = SIM_LDMATRIX,
                      .type = SIM_TYPE,
                      .line = line,
                      .turned = turned,
                      .shared = 1,
                      .site = __builtin_return_address(0),
                      .from = row,
                      .to = to};
    here->calls->tensor(here, &ask);
}
#define ldmatrix(to, row, turned)      sim_ldmatrix(to, row, turned, __LINE__)
#define ldmatrix_at(to, place, turned) ldmatrix(to, shared_pointer(place), turned)

/* Infinities and NaNs have nothing to round. */
static SIM_UNTRACED void mma_round(unsigned *words, int count) {
#if defined(TYPE_F32)
    for (int i = 0; i < count; i++)
        if ((words[i] & 0x7f800000u) != 0x7f800000u) words[i] = (words[i] + 0x1000u) & ~0x1fffu;
#else
    (void)words, (void)count;
#endif
}

static SIM_UNTRACED void sim_mma(void *d, const void *a, const void *b, int type, int depth, int line) {
    sim_here *here = SIM_HERE;
    sim_tensor ask = {.operation = SIM_MMA,
                      .type = type,
                      .line = line,
                      .depth = depth,
                      .site = __builtin_return_address(0),
                      .to = d,
                      .a = a,
                      .b = b};
    here->calls->tensor(here, &ask);
}
#define mma(d, a, b) sim_mma(d, a, b, SIM_TYPE, 0, __LINE__)
/* Of kernels/split_03_mma.cu. */
#define mma_half(d, a, b, is_bf16) sim_mma(d, a, b, (is_bf16) ? SIM_BF16 : SIM_F16, 0, __LINE__)
/* Of kernels/doubles.h. */
#define mma_f64(d, a, b, depth) sim_mma(d, a, b, SIM_F64, depth, __LINE__)
#define anew(number)            (number)

#define two_out(first, second) ((unsigned)TO_OUT(first) | (unsigned)TO_OUT(second) << 16)

typedef struct wmma_part {
    unsigned x[4];
} wmma_part;
typedef struct wmma_sums {
    acc_t x[8];
} wmma_sums;

static SIM_UNTRACED void sim_wmma_load(wmma_part *f, const in_t *at, int ld, int is_b, int turned, int shared,
                                       int line) {
    sim_here *here = SIM_HERE;
    sim_tensor ask = {.operation = SIM_WMMA_LOAD,
                      .type = SIM_TYPE,
                      .line = line,
                      .is_b = is_b,
                      .turned = turned,
                      .shared = shared,
                      .ld = ld,
                      .site = __builtin_return_address(0),
                      .from = at,
                      .to = f->x};
    here->calls->tensor(here, &ask);
    mma_round(f->x, 4);
}
#define wmma_load(f, at, ld, is_b, turned, shared) \
    sim_wmma_load(f, at, (int)(ld), is_b, turned, shared, __LINE__)

static SIM_UNTRACED void sim_wmma_multiply(wmma_sums *d, const wmma_part *a, const wmma_part *b, int line) {
    sim_here *here = SIM_HERE;
    sim_tensor ask = {.operation = SIM_WMMA_MULTIPLY,
                      .type = SIM_TYPE,
                      .line = line,
                      .site = __builtin_return_address(0),
                      .to = d->x,
                      .a = a->x,
                      .b = b->x};
    here->calls->tensor(here, &ask);
}
/* A fragment is the same however the matrix lay. */
#define wmma_multiply(d, a, b, a_turned, b_turned) \
    ((void)(a_turned), (void)(b_turned), sim_wmma_multiply(d, a, b, __LINE__))

static SIM_UNTRACED void sim_wmma_store(acc_t *to, const wmma_sums *d, int ld, int line) {
    sim_here *here = SIM_HERE;
    sim_tensor ask = {.operation = SIM_WMMA_STORE,
                      .type = SIM_TYPE,
                      .line = line,
                      .shared = 1,
                      .ld = ld,
                      .site = __builtin_return_address(0),
                      .from = d->x,
                      .to = to};
    here->calls->tensor(here, &ask);
}
#define wmma_store(to, d, ld) sim_wmma_store(to, d, (int)(ld), __LINE__)

#endif
#endif
