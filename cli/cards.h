/* cards.h: what is known of the GPUs that `tessera explain` predicts for. */
#ifndef CARDS_H
#define CARDS_H

#include "tessera.h"

#include <stdbool.h>

/* Rates are per clock and multiprocessor, latencies in clocks; where each number comes from stands in cards.c. */
typedef struct card {
    const char *name;
    int architecture; /* 90 is sm_90 */
    int sms;
    double clock;      /* Hz, under load */
    int schedulers;    /* of a multiprocessor: instructions issued a clock */
    double f32, f64;   /* multiply-adds */
    double i32;        /* 32-bit integer multiply-adds */
    double tensor;     /* 16-bit multiply-adds of tensor cores, added up in f32, by mma; 0: it has none */
    double pass_bytes; /* that shared memory and L1 deliver */
    double l2_bytes;   /* that L2 delivers */
    double dram_bytes; /* a second, of the whole card */
    double l2_size;    /* bytes */
    double l2_latency, dram_latency;
    int l1_keeps_loads; /* 0: loads of global memory go to L2 each time */
} card;

extern const card cards_all[];
extern const size_t cards_count;

/* The card of that name: case, spaces and the maker's name do not matter, and a part will do where only one card has it
 * ("p100", "rtx 3070"). NULL after a sentence that lists the names, with the nearest. */
const card *cards_find(const char *name);
/* The same without the sentence. */
const card *cards_match(const char *name);

/* Multiply-adds of a type, per clock and multiprocessor; operations a second of the whole card. `tensor`: by tensor
 * cores, f32 as TF32. */
double cards_fma(const card *c, tess_type type, bool tensor);
double cards_peak(const card *c, tess_type type, bool tensor);

#endif
