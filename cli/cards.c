/* cards.c: one table of GPUs.
 *
 * Invariant: a number is a datasheet's, a microbenchmark's or a measurement's, and its row says which; none is chosen
 * for a kernel.
 *
 *   sms, clock, f32, f64, dram_bytes, l2_size   NVIDIA's datasheets and architecture whitepapers
 *   i32          throughput table of the CUDA C++ Programming Guide; before sm_70 a multiply-add takes several instructions
 *   pass_bytes   128 (32 banks of 4 bytes), but 64 on Turing (Jia et al. 2019, T4: 59 measured)
 *   latencies, l2_bytes
 *       H200                  measured: bench/results/h200/hierarchy.csv (its dram_bytes too)
 *       H100, A100, RTX 4090  Luo et al. 2024, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture":
 *                             latencies; L2 scaled from the H200 (H100), from 5120 bytes a clock of the A100
 *                             whitepaper less a fifth, and about 5 TB/s (4090)
 *       P100, P4000, GTX 1650 Jia et al. 2018 and 2019 (P100, P4 and T4, their nearest relatives), rounded; L2 32 bytes a
 *                             clock, the width of a multiprocessor's port
 *       RTX 3070 Laptop       as the GTX 1650, its neighbour in the consumer line, where nothing better is known
 *
 * The clocks of the P100 and the RTX 3070 Laptop are those that give the peaks their owners state (9.3 and 16.6
 * TFLOPS). */
#include "cards.h"
#include "nearest.h"
#include "say.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const card cards_all[] = {
    {.name = "Tesla P100",
     .architecture = 60,
     .sms = 56,
     .clock = 1.303e9,
     .schedulers = 2,
     .f32 = 64,
     .f64 = 32,
     .i32 = 16,
     .pass_bytes = 128,
     .l2_bytes = 32,
     .dram_bytes = 732e9,
     .l2_size = 4 << 20,
     .l2_latency = 234,
     .dram_latency = 570,
     .l1_keeps_loads = 1},
    {.name = "Quadro P4000",
     .architecture = 61,
     .sms = 14,
     .clock = 1.48e9,
     .schedulers = 4,
     .f32 = 128,
     .f64 = 4,
     .i32 = 32,
     .pass_bytes = 128,
     .l2_bytes = 32,
     .dram_bytes = 243e9,
     .l2_size = 2 << 20,
     .l2_latency = 216,
     .dram_latency = 545,
     .l1_keeps_loads = 0},
    {.name = "GTX 1650",
     .architecture = 75,
     .sms = 14,
     .clock = 1.665e9,
     .schedulers = 4,
     .f32 = 64,
     .f64 = 2,
     .i32 = 64,
     .pass_bytes = 64,
     .l2_bytes = 32,
     .dram_bytes = 128e9,
     .l2_size = 1 << 20,
     .l2_latency = 188,
     .dram_latency = 434,
     .l1_keeps_loads = 1},
    {.name = "RTX 3070 Laptop",
     .architecture = 86,
     .sms = 40,
     .clock = 1.62e9,
     .schedulers = 4,
     .f32 = 128,
     .f64 = 2,
     .i32 = 64,
     .pass_bytes = 128,
     .l2_bytes = 32,
     .dram_bytes = 448e9,
     .l2_size = 4 << 20,
     .l2_latency = 188,
     .dram_latency = 434,
     .l1_keeps_loads = 1},
    {.name = "A100",
     .architecture = 80,
     .sms = 108,
     .clock = 1.41e9,
     .schedulers = 4,
     .f32 = 64,
     .f64 = 32,
     .i32 = 64,
     .pass_bytes = 128,
     .l2_bytes = 38,
     .dram_bytes = 1555e9,
     .l2_size = 40 << 20,
     .l2_latency = 261,
     .dram_latency = 466,
     .l1_keeps_loads = 1},
    {.name = "H100",
     .architecture = 90,
     .sms = 132,
     .clock = 1.98e9,
     .schedulers = 4,
     .f32 = 128,
     .f64 = 64,
     .i32 = 64,
     .pass_bytes = 128,
     .l2_bytes = 29.5,
     .dram_bytes = 3350e9,
     .l2_size = 50 << 20,
     .l2_latency = 263,
     .dram_latency = 479,
     .l1_keeps_loads = 1},
    {.name = "H200",
     .architecture = 90,
     .sms = 132,
     .clock = 1.98e9,
     .schedulers = 4,
     .f32 = 128,
     .f64 = 64,
     .i32 = 64,
     .pass_bytes = 128,
     .l2_bytes = 29.5,
     .dram_bytes = 4538e9,
     .l2_size = 60 << 20,
     .l2_latency = 280,
     .dram_latency = 688,
     .l1_keeps_loads = 1},
    {.name = "RTX 4090",
     .architecture = 89,
     .sms = 128,
     .clock = 2.52e9,
     .schedulers = 4,
     .f32 = 128,
     .f64 = 2,
     .i32 = 64,
     .pass_bytes = 128,
     .l2_bytes = 15.5,
     .dram_bytes = 1008e9,
     .l2_size = 72 << 20,
     .l2_latency = 273,
     .dram_latency = 541,
     .l1_keeps_loads = 1},
};
const size_t cards_count = sizeof cards_all / sizeof *cards_all;
enum { CARDS = sizeof cards_all / sizeof *cards_all, LONGEST = 64 };

/* Letters and digits in lower case, without the words that every card may have before its name. */
static void simplify(const char *name, char out[LONGEST]) {
    static const char *const makers[] = {"nvidia", "geforce", "gpu"};
    size_t used = 0;
    for (; *name != '\0' && used < LONGEST - 1; name++)
        if (isalnum((unsigned char)*name)) out[used++] = (char)tolower((unsigned char)*name);
    out[used] = '\0';
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        char *at = strstr(out, makers[i]);
        if (at != NULL) memmove(at, at + strlen(makers[i]), strlen(at + strlen(makers[i])) + 1);
    }
}

static void refuse(const char *name) {
    const char *names[CARDS];
    char list[256] = "";
    for (size_t i = 0; i < CARDS; i++) {
        names[i] = cards_all[i].name;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    int near = nearest_name(name, names, CARDS);
    if (near >= 0)
        say_error("no GPU is known as '%s'; did you mean '%s'? Known: %s", name, names[near], list);
    else
        say_error("no GPU is known as '%s'. Known: %s", name, list);
}

const card *cards_find(const char *name) {
    char wanted[LONGEST], have[LONGEST];
    const card *part = NULL;
    int parts = 0;
    simplify(name, wanted);
    for (size_t i = 0; i < CARDS; i++) {
        simplify(cards_all[i].name, have);
        if (strcmp(have, wanted) == 0) return &cards_all[i];
        if (wanted[0] != '\0' && strstr(have, wanted) != NULL) part = &cards_all[i], parts++;
    }
    if (parts == 1) return part;
    refuse(name);
    return NULL;
}

double cards_fma(const card *c, tess_type type) {
    if (type == TESS_F64) return c->f64;
    return type == TESS_I32 || type == TESS_I8 ? c->i32 : c->f32;
}

double cards_peak(const card *c, tess_type type) {
    return 2 * cards_fma(c, type) * c->sms * c->clock;
}
