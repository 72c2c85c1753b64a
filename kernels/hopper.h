/* hopper.h: what a kernel for Hopper's tensor cores may use beside port.h; it says #include "hopper.h" after its
 * header. For sm_90a alone; the simulator has none of it. Addresses of shared memory are 32-bit numbers here.
 *
 *   barrier_*, block_address  of barriers.h
 *   tma_*                  copies of boxes, 128 bytes wide, between a matrix and shared memory; one thread asks
 *   wgmma_*, WGMMA         64×BN sums of four warps += A (64×32 bytes) * B (32 bytes×BN), both in shared memory; WGMMA_HELD
 *                          with A in registers. WGMMA_COLS, if the kernel defines it, instead of BN
 *   send_four, …           sums to the shared memory of another block of the cluster; read_four, write_four: of this one
 *   acquired, add_released counts by which blocks tell each other what they have written
 *   tile_of                which tile of C comes at which place in the order
 *
 * A tile in shared memory is lines of 128 bytes, their pieces of 16 swizzled as TMA writes and wgmma reads them: piece
 * p of line r lies at r*128 + (p ^ r % 8)*16. Lines run along k, or along m or n (TURNED), then in chunks of 64. */
#ifndef HOPPER_H
#define HOPPER_H

#define CLUSTER_KERNEL(threads, cluster) KERNEL2(threads, 1) __cluster_dims__(cluster, 1, 1)
#define ARGUMENT                         const __grid_constant__ tma_gemm

#include "barriers.h"

#include "pieces.h"

DEVICE unsigned shared_word(unsigned address) {
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}

DEVICE piece shared_piece(unsigned address) {
    piece p;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(p.at[0]), "=r"(p.at[1]), "=r"(p.at[2]), "=r"(p.at[3])
                 : "r"(address)
                 : "memory");
    return p;
}

DEVICE void keep_piece(unsigned address, piece p) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(p.at[0]), "r"(p.at[1]),
                 "r"(p.at[2]), "r"(p.at[3])
                 : "memory");
}

/* Four sums that are written to another block of the cluster, and counted by a barrier there. They are not to be taken for
 * words: what turns sums into those, wgmma would wait for. */
#if defined(TYPE_I8_I32)
#define SUM_IN   "r"
#define SUM_OUT  "=r"
#define SUM_TYPE "s32"
#else
#define SUM_IN   "f"
#define SUM_OUT  "=f"
#define SUM_TYPE "f32"
#endif
DEVICE void send_four(unsigned to, const acc_t sums[4], unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4." SUM_TYPE
                 " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 SUM_IN(sums[0]), SUM_IN(sums[1]), SUM_IN(sums[2]), SUM_IN(sums[3]), "r"(barrier)
                 : "memory");
}

/* Four of this block's shared memory. */
DEVICE void read_four(acc_t sums[4], unsigned from) {
    asm volatile("ld.shared.v4." SUM_TYPE " {%0, %1, %2, %3}, [%4];"
                 : SUM_OUT(sums[0]), SUM_OUT(sums[1]), SUM_OUT(sums[2]), SUM_OUT(sums[3])
                 : "r"(from)
                 : "memory");
}
DEVICE void write_four(unsigned to, const acc_t sums[4]) {
    asm volatile("st.shared.v4." SUM_TYPE " [%0], {%1, %2, %3, %4};" ::"r"(to), SUM_IN(sums[0]),
                 SUM_IN(sums[1]), SUM_IN(sums[2]), SUM_IN(sums[3])
                 : "memory");
}

/* What other blocks have written, once they have added to a count; and for TMA to read. */
DEVICE int acquired(const int *count) {
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(count) : "memory");
    return value;
}
DEVICE void add_released(int *count, int value) {
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(count), "r"(value) : "memory");
}
DEVICE void fence_async_global(void) {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

/* A number that the compiler knows nothing about: what is made of it is computed where it is needed, and takes no register before. */
DEVICE int hidden(int number) {
    asm volatile("" : "+r"(number));
    return number;
}

/* A word that nobody writes while the kernel runs. */
DEVICE unsigned read_word(const unsigned *from) {
    unsigned word;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(from));
    return word;
}

/* A barrier of the hardware, 1 to 15: waits for, or only announces, so many threads. */
DEVICE void named_wait(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
DEVICE void named_arrive(int number, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
DEVICE int cluster_rank(void) {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
DEVICE void cluster_wait(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* ---- TMA: a box from (x, line) of a product's matrix; what lies outside of the matrix is zeros, or not written ---- */

/* The first use of a map waits for it to be fetched; this begins that early. */
DEVICE void tma_prefetch(const tensor_map *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
DEVICE void tma_load(unsigned to, const tensor_map *map, int x, int line, int product, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(line), "r"(product)
                 : "memory");
}
/* To the same place of every block of the cluster whose bit is set, and to their barriers. */
DEVICE void tma_load_all(unsigned to, const tensor_map *map, int x, int line, int product, unsigned barrier,
                         int blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to),
                 "l"(map), "r"(barrier), "h"((unsigned short)blocks), "r"(x), "r"(line), "r"(product)
                 : "memory");
}
DEVICE void tma_store(const tensor_map *map, unsigned from, int x, int line, int product) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
                 "cp.async.bulk.commit_group;" ::"l"(map),
                 "r"(from), "r"(x), "r"(line), "r"(product)
                 : "memory");
}
/* Until all but so many of this thread's stores have read their boxes; until all are done. */
#define tma_wait_read(pending) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory")
#define tma_wait_all()         asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
/* Before TMA or wgmma reads what ordinary instructions of this thread have written to shared memory. */
DEVICE void fence_async(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- wgmma ---- */

/* Registers a thread may have from here on; all four warps of a warpgroup ask together. */
#define REGISTERS_FEWER(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define REGISTERS_MORE(count)  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))

#define wgmma_fence()       asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define wgmma_commit()      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define wgmma_wait(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")

/* A tile for wgmma, from its shared address: lines of 128 bytes along k, or (turned) along m or n, where the next 64
 * elements lie 64 lines further on. A step of 32 bytes along k is then so many units of the description. */
DEVICE unsigned long long wgmma_tile(unsigned address, int turned) {
    unsigned long long to_chunk = turned ? 64 * 128 / 16 : 1, to_eight = 8 * 128 / 16, swizzle = 1;
    return swizzle << 62 | to_eight << 32 | to_chunk << 16 | (address & 0x3ffff) >> 4;
}
#define WGMMA_STEP(turned) ((turned) ? 16 * 128 / 16 : 32 / 16)

/* The names of so many sums; and the sums, as operands. */
#define WG_32                                                              \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WG_36  WG_32 ", %32, %33, %34, %35"
#define WG_40  WG_36 ", %36, %37, %38, %39"
#define WG_44  WG_40 ", %40, %41, %42, %43"
#define WG_48  WG_44 ", %44, %45, %46, %47"
#define WG_52  WG_48 ", %48, %49, %50, %51"
#define WG_56  WG_52 ", %52, %53, %54, %55"
#define WG_64  WG_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WG_68  WG_64 ", %64, %65, %66, %67"
#define WG_72  WG_68 ", %68, %69, %70, %71"
#define WG_76  WG_72 ", %72, %73, %74, %75"
#define WG_80  WG_76 ", %76, %77, %78, %79"
#define WG_84  WG_80 ", %80, %81, %82, %83"
#define WG_88  WG_84 ", %84, %85, %86, %87"
#define WG_92  WG_88 ", %88, %89, %90, %91"
#define WG_96  WG_92 ", %92, %93, %94, %95"
#define WG_100 WG_96 ", %96, %97, %98, %99"
#define WG_104 WG_100 ", %100, %101, %102, %103"
#define WG_108 WG_104 ", %104, %105, %106, %107"
#define WG_112 WG_108 ", %108, %109, %110, %111"
#define WG_116 WG_112 ", %112, %113, %114, %115"
#define WG_120 WG_116 ", %116, %117, %118, %119"
#define WG_124 WG_120 ", %120, %121, %122, %123"
#define WG_128 WG_124 ", %124, %125, %126, %127"
#if defined(TYPE_I8_I32)
#define WG_ONE(d, i) "+r"(d[i])
#else
#define WG_ONE(d, i) "+f"(d[i])
#endif
#define WG_4(d, i)   WG_ONE(d, i), WG_ONE(d, (i) + 1), WG_ONE(d, (i) + 2), WG_ONE(d, (i) + 3)
#define WG_8(d, i)   WG_4(d, i), WG_4(d, (i) + 4)
#define WG_16(d, i)  WG_8(d, i), WG_8(d, (i) + 8)
#define WG_IN_32(d)  WG_16(d, 0), WG_16(d, 16)
#define WG_IN_36(d)  WG_IN_32(d), WG_4(d, 32)
#define WG_IN_40(d)  WG_IN_36(d), WG_4(d, 36)
#define WG_IN_44(d)  WG_IN_40(d), WG_4(d, 40)
#define WG_IN_48(d)  WG_IN_44(d), WG_4(d, 44)
#define WG_IN_52(d)  WG_IN_48(d), WG_4(d, 48)
#define WG_IN_56(d)  WG_IN_52(d), WG_4(d, 52)
#define WG_IN_64(d)  WG_IN_56(d), WG_8(d, 56)
#define WG_IN_68(d)  WG_IN_64(d), WG_4(d, 64)
#define WG_IN_72(d)  WG_IN_68(d), WG_4(d, 68)
#define WG_IN_76(d)  WG_IN_72(d), WG_4(d, 72)
#define WG_IN_80(d)  WG_IN_76(d), WG_4(d, 76)
#define WG_IN_84(d)  WG_IN_80(d), WG_4(d, 80)
#define WG_IN_88(d)  WG_IN_84(d), WG_4(d, 84)
#define WG_IN_92(d)  WG_IN_88(d), WG_4(d, 88)
#define WG_IN_96(d)  WG_IN_92(d), WG_4(d, 92)
#define WG_IN_100(d) WG_IN_96(d), WG_4(d, 96)
#define WG_IN_104(d) WG_IN_100(d), WG_4(d, 100)
#define WG_IN_108(d) WG_IN_104(d), WG_4(d, 104)
#define WG_IN_112(d) WG_IN_108(d), WG_4(d, 108)
#define WG_IN_116(d) WG_IN_112(d), WG_4(d, 112)
#define WG_IN_120(d) WG_IN_116(d), WG_4(d, 116)
#define WG_IN_124(d) WG_IN_120(d), WG_4(d, 120)
#define WG_IN_128(d) WG_IN_124(d), WG_4(d, 124)
/* The columns of the sums, how many sums a thread has, and the numbers that follow, which the other operands have. */
#ifndef WGMMA_COLS
#define WGMMA_COLS BN
#endif
#if WGMMA_COLS == 64
#define WG_NUMBERS 64, 32, 33, 34, 35, 36, 37
#elif WGMMA_COLS == 72
#define WG_NUMBERS 72, 36, 37, 38, 39, 40, 41
#elif WGMMA_COLS == 80
#define WG_NUMBERS 80, 40, 41, 42, 43, 44, 45
#elif WGMMA_COLS == 88
#define WG_NUMBERS 88, 44, 45, 46, 47, 48, 49
#elif WGMMA_COLS == 96
#define WG_NUMBERS 96, 48, 49, 50, 51, 52, 53
#elif WGMMA_COLS == 104
#define WG_NUMBERS 104, 52, 53, 54, 55, 56, 57
#elif WGMMA_COLS == 128
#define WG_NUMBERS 128, 64, 65, 66, 67, 68, 69
#elif WGMMA_COLS == 136
#define WG_NUMBERS 136, 68, 69, 70, 71, 72, 73
#elif WGMMA_COLS == 144
#define WG_NUMBERS 144, 72, 73, 74, 75, 76, 77
#elif WGMMA_COLS == 152
#define WG_NUMBERS 152, 76, 77, 78, 79, 80, 81
#elif WGMMA_COLS == 160
#define WG_NUMBERS 160, 80, 81, 82, 83, 84, 85
#elif WGMMA_COLS == 168
#define WG_NUMBERS 168, 84, 85, 86, 87, 88, 89
#elif WGMMA_COLS == 176
#define WG_NUMBERS 176, 88, 89, 90, 91, 92, 93
#elif WGMMA_COLS == 184
#define WG_NUMBERS 184, 92, 93, 94, 95, 96, 97
#elif WGMMA_COLS == 192
#define WG_NUMBERS 192, 96, 97, 98, 99, 100, 101
#elif WGMMA_COLS == 200
#define WG_NUMBERS 200, 100, 101, 102, 103, 104, 105
#elif WGMMA_COLS == 208
#define WG_NUMBERS 208, 104, 105, 106, 107, 108, 109
#elif WGMMA_COLS == 216
#define WG_NUMBERS 216, 108, 109, 110, 111, 112, 113
#elif WGMMA_COLS == 224
#define WG_NUMBERS 224, 112, 113, 114, 115, 116, 117
#elif WGMMA_COLS == 232
#define WG_NUMBERS 232, 116, 117, 118, 119, 120, 121
#elif WGMMA_COLS == 240
#define WG_NUMBERS 240, 120, 121, 122, 123, 124, 125
#elif WGMMA_COLS == 248
#define WG_NUMBERS 248, 124, 125, 126, 127, 128, 129
#elif WGMMA_COLS == 256
#define WG_NUMBERS 256, 128, 129, 130, 131, 132, 133
#endif
#define WG_PICK(what, ...)                         what(__VA_ARGS__)
#define WG_COLUMNS_OF(cols, sums, a, b, c, d, e)   "n" #cols
#define WG_SUMS_OF(cols, sums, a, b, c, d, e)      WG_##sums
#define WG_ALL_OF(at, cols, sums, a, b, c, d, e)   WG_IN_##sums(at)
#define WG_OTHERS_OF(cols, sums, a, b, c, d, e)    "%" #sums ", %" #a ", keep"
#define WG_KEEP_OF(cols, sums, a, b, c, d, e)      "%" #b
#define WG_HELD_OF(cols, sums, a, b, c, d, e)      "{%" #sums ", %" #a ", %" #b ", %" #c "}, %" #d ", keep"
#define WG_HELD_KEEP_OF(cols, sums, a, b, c, d, e) "%" #e
#define WG_COLUMNS                                 WG_PICK(WG_COLUMNS_OF, WG_NUMBERS)
#define WG_SUMS                                    WG_PICK(WG_SUMS_OF, WG_NUMBERS)
#define WG_ALL(at)                                 WG_PICK(WG_ALL_OF, at, WG_NUMBERS)
#define WG_OTHERS                                  WG_PICK(WG_OTHERS_OF, WG_NUMBERS)
#define WG_KEEP                                    WG_PICK(WG_KEEP_OF, WG_NUMBERS)
#define WG_HELD                                    WG_PICK(WG_HELD_OF, WG_NUMBERS)
#define WG_HELD_KEEP                               WG_PICK(WG_HELD_KEEP_OF, WG_NUMBERS)
#if defined(TYPE_F16) || defined(TYPE_F16_F32)
#define WG_TYPES "k16.f32.f16.f16"
#elif defined(TYPE_BF16) || defined(TYPE_BF16_F32)
#define WG_TYPES "k16.f32.bf16.bf16"
#elif defined(TYPE_I8_I32)
#define WG_TYPES "k32.s32.s8.s8"
#else
#define WG_TYPES "k8.f32.tf32.tf32"
#endif
#define WG_TEXT_OF(x) #x
#define WG_TEXT(x)    WG_TEXT_OF(x)
/* Elements of 16 bits may lie along m or n; integers have no signs to turn. */
#if defined(TYPE_I8_I32)
#define WG_FLAGS(at, bt) ""
#elif defined(TYPE_F32)
#define WG_FLAGS(at, bt) ", 1, 1"
#else
#define WG_FLAGS(at, bt) ", 1, 1, " WG_TEXT(at) ", " WG_TEXT(bt)
#endif

/* sums += A*B, or (keep 0) sums = A*B, for tiles a and b as wgmma_tile describes them. Runs beside what follows: sums
 * may be touched after wgmma_wait alone. A_TURNED and B_TURNED are 0 or 1; a kernel that computes C transposed, whose tiles of
 * B are on the left, says LEFT_TURNED and RIGHT_TURNED. */
#ifndef LEFT_TURNED
#define LEFT_TURNED  A_TURNED
#define RIGHT_TURNED B_TURNED
#endif
#define WGMMA(sums, a, b, keep_sums)                                                 \
    asm volatile("{\n.reg .pred keep;\n"                                             \
                 "setp.ne.b32 keep, " WG_KEEP ", 0;\n"                               \
                 "wgmma.mma_async.sync.aligned.m64" WG_COLUMNS WG_TYPES " {" WG_SUMS \
                 "}, " WG_OTHERS WG_FLAGS(LEFT_TURNED, RIGHT_TURNED) ";\n}"          \
                 : WG_ALL(sums)                                                      \
                 : "l"(a), "l"(b), "r"(keep_sums))
/* The same where A is in registers, four of every thread: of 32-bit elements lane l of warp w has row 16*w + l / 4 of step
 * l % 4 along k, the row 8 further on, and both at step l % 4 + 4. They may be written after wgmma_wait alone, too. */
#define WGMMA_HELD(sums, held, b, keep_sums)                                         \
    asm volatile("{\n.reg .pred keep;\n"                                             \
                 "setp.ne.b32 keep, " WG_HELD_KEEP ", 0;\n"                          \
                 "wgmma.mma_async.sync.aligned.m64" WG_COLUMNS WG_TYPES " {" WG_SUMS \
                 "}, " WG_HELD WG_FLAGS(0, 0) ";\n}"                                 \
                 : WG_ALL(sums)                                                      \
                 : "r"((held)[0]), "r"((held)[1]), "r"((held)[2]), "r"((held)[3]), "l"(b), "r"(keep_sums))
/* Keeps the compiler from using sums before a wait. */
#define WGMMA_PIN(sums) asm volatile("" : WG_ALL(sums)::"memory")

/* ---- Tiles ---- */

#include "raster.h"

#endif
