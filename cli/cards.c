/* cards.c: one table of GPUs.
 *
 * Invariant: a number is a datasheet's, a microbenchmark's or a measurement's, and its row says which; none is chosen
 * for a kernel.
 *
 *   sms, clock, f32, f64, dram_bytes, l2_size   NVIDIA's datasheets and architecture whitepapers
 *   i32          throughput table of the CUDA C++ Programming Guide; before sm_70 a multiply-add takes several instructions
 *   tensor       whitepapers (dense, sums in f32); on Hopper 0.629 of it, which is what mma, unlike wgmma, reaches there
 *                (Luo et al. 2024, below). A TU117 (GTX 1650) has none
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
    /* name, architecture, sms, clock, schedulers, f32, f64, i32, tensor, pass, l2 and dram bytes, l2 size and latency, dram
     * latency, l1 keeps loads: the order of cards.h */
    /* clang-format off: a table */
    {"Tesla P100", 60, 56, 1.303e9, 2, 64, 32, 16, 0, 128, 32, 732e9, 4 << 20, 234, 570, 1},
    {"Quadro P4000", 61, 14, 1.48e9, 4, 128, 4, 32, 0, 128, 32, 243e9, 2 << 20, 216, 545, 0},
    {"GTX 1650", 75, 14, 1.665e9, 4, 64, 2, 64, 0, 64, 32, 128e9, 1 << 20, 188, 434, 1},
    {"RTX 3070 Laptop", 86, 40, 1.62e9, 4, 128, 2, 64, 256, 128, 32, 448e9, 4 << 20, 188, 434, 1},
    {"A100", 80, 108, 1.41e9, 4, 64, 32, 64, 1024, 128, 38, 1555e9, 40 << 20, 261, 466, 1},
    {"H100", 90, 132, 1.98e9, 4, 128, 64, 64, 1288, 128, 29.8, 3350e9, 50 << 20, 263, 479, 1},
    {"H200", 90, 132, 1.98e9, 4, 128, 64, 64, 1288, 128, 29.8, 4536e9, 60 << 20, 273, 680, 1},
    {"RTX 4090", 89, 128, 2.52e9, 4, 128, 2, 64, 256, 128, 15.5, 1008e9, 72 << 20, 273, 541, 1},
    /* clang-format on */
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

const card *cards_match(const char *name) {
    char wanted[LONGEST], have[LONGEST];
    const card *part = NULL;
    int parts = 0;
    simplify(name, wanted);
    for (size_t i = 0; i < CARDS; i++) {
        simplify(cards_all[i].name, have);
        if (strcmp(have, wanted) == 0) return &cards_all[i];
        if (wanted[0] != '\0' && strstr(have, wanted) != NULL) part = &cards_all[i], parts++;
    }
    return parts == 1 ? part : NULL;
}

const card *cards_find(const char *name) {
    const card *found = cards_match(name);
    if (found == NULL) refuse(name);
    return found;
}

/* Tensor cores of cards for computing (sm_80, sm_90) have f64, at twice the rate of the ordinary cores. */
double cards_fma(const card *c, tess_type type, bool tensor) {
    if (tensor && type == TESS_F64) return c->architecture % 10 == 0 ? 2 * c->f64 : c->f64;
    if (tensor) return c->tensor * 2 / (double)tess_type_size(type);
    if (type == TESS_F64) return c->f64;
    return type == TESS_I32 || type == TESS_I8 ? c->i32 : c->f32;
}

double cards_peak(const card *c, tess_type type, bool tensor) {
    return 2 * cards_fma(c, type, tensor) * c->sms * c->clock;
}
