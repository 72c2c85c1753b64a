/* choose_split.c: where f32 is multiplied by parts on tensor cores (split.h) without being asked for: where that is faster
 * than multiply-adds of f32, and its error is not larger than theirs.
 *
 * The error does not depend on the shape but on k (docs/NUMERICS.md): so does what is allowed. */
#include <math.h>
#include <stdlib.h>

#include "../split.h"
#include "cuda.h"

/* Whether the planner takes such kernels where $TESSERA_SPLIT does not say. */
enum { SPLIT_BY_DEFAULT = 1 };

/* From this k on two parts have less error than multiply-adds in order, on all data tried; and three of wgmma's kernel, from that
 * one on: below it is told to leave to multiply-adds what two do not carry. */
enum { LEAST_K = 256, LEAST_K_OF_THREE = 512 };
#define RULE "from k = 256 on parts of f32 on tensor cores have no more error than f32 multiply-adds, and "

/* A tile, and the seconds that a multiprocessor takes for one of k; its parameters, and those for a k below LEAST_K_OF_THREE, if they
 * are others. Where the last round of tiles is cut along k: the seconds that joining pieces takes. */
typedef struct split_tiling {
    int rows, cols;
    double time;
    const char *params, *params_of_short;
    double joining;
} split_tiling;
enum { TILINGS = 5 };

/* A card. Before the product: seconds of the launches; then those of each line beyond the ones that are in work at once, whose
 * threads wait for each other, or those of memory, whichever are more: 12 bytes for each element of A and B, so many in a second
 * of the first that the second-level cache holds, and of all others; and seconds for each element of lines that are not
 * aligned. Of multiply-adds: the best rate that a multiprocessor reaches on any shape. */
typedef struct split_card {
    const char *kernel, *reason;
    int reckoned; /* and not measured: a choice that is wrong must not be slower */
    int count;
    split_tiling tilings[TILINGS];
    double parts_start, lines_at_once, parts_line, cached, cached_bytes, parts_bytes, loose;
    double plain_start, plain_rate;
} split_card;

#define ALSO_SHORT(params) params, params ",SHORT=1"
#define PLENTY             "CM=1,GROUP=16,BOXES=2"
static const split_card h200 = {.kernel = "split_01_fp16x3",
                                .reason = RULE "here they take less time",
                                .count = 5,
                                .tilings = {{128, 192, 24.5e-9, NULL, "SHORT=1", 0},
                                            {128, 200, 25.4e-9, ALSO_SHORT("BN=200"), 0},
                                            {128, 128, 16.9e-9, ALSO_SHORT("BN=128,STAGES=6," PLENTY), 0},
                                            {128, 64, 9e-9, ALSO_SHORT("BN=64,STAGES=8," PLENTY), 0},
                                            {128, 192, 24.5e-9, ALSO_SHORT("SHARE=1"), 18e-6}},
                                .parts_start = 8.7e-6,
                                .lines_at_once = 1600,
                                .parts_line = 1.7e-9,
                                .cached = 50e6,
                                .cached_bytes = 15e12,
                                .parts_bytes = 4.4e12,
                                .loose = 3.5e-12,
                                .plain_start = 3e-6,
                                .plain_rate = 0.4e12};

/* Not measured on that card, but reckoned from its published rates: three fifths of a third of 312 TFLOPS as f16 on 108
 * multiprocessors, against all of 19.5 TFLOPS as f32; two thirds of 1.5 TB/s for parts, and launches that do not overlap.
 * Small tiles take as much longer than large ones as on an H200. Its three parts are added up more often, and err less. */
static const split_card a100 = {.kernel = "split_03_mma",
                                .reason = RULE "by this card's published rates they take less time",
                                .reckoned = 1,
                                .count = 3,
                                .tilings = {{128, 128, 57e-9, NULL, NULL, 0},
                                            {128, 64, 38e-9, "BN=64,WM=32,STAGES=4", NULL, 0},
                                            {64, 64, 22e-9, "BM=64,BN=64,WM=32,WN=16,STAGES=4", NULL, 0}},
                                .parts_start = 15e-6,
                                .parts_line = 2e-9,
                                .parts_bytes = 1e12,
                                .plain_start = 3e-6,
                                .plain_rate = 0.18e12};

/* NULL: one whose tensor cores are not known to be faster by parts. Those of cards for graphics, sm_86, sm_89 and sm_120,
 * multiply f16 with sums of f32 at one to two times the rate of f32, and three products use that up; some for servers do
 * it at four times, but a driver tells them by their names alone. Of sm_100 and later nothing was measured. */
static const split_card *card_of(const cuda_device *self) {
    int architecture = self->facts->architecture;
    if (architecture == 90) return driver.cuTensorMapEncodeTiled ? &h200 : NULL;
    return architecture == 80 ? &a100 : NULL;
}

int cuda_splits(const cuda_device *self) {
    return card_of(self) != NULL;
}

/* Where a last round is cut: clusters have tiles of two blocks, and there must be room for their sums (kernels/split.h). */
static double cut_time(const problem *what, const split_tiling *t, int sms) {
    double tiles = cuda_tiles(what, 2 * t->rows, t->cols), clusters = floor(sms / 2.0),
           rest = fmod(tiles, clusters),
           sums = (clusters + rest) * 2 * t->rows * t->cols * (double)sizeof(float);
    if (tiles < clusters || sums > (double)split_room(what)) return HUGE_VAL;
    return tiles / clusters * (double)what->k * t->time + t->joining;
}

/* Of the product alone, with such tiles. */
static double tile_time(const problem *what, const split_tiling *t, int sms) {
    if (t->joining > 0) return cut_time(what, t, sms);
    double tiles = cuda_tiles(what, t->rows, t->cols);
    return ceil(tiles / sms) * (double)what->k * t->time;
}

static double pack_time(const split_card *card, const problem *what) {
    const tess_batch *batch = &what->batch;
    double a = (double)what->m * (batch->stride_a ? (double)batch->count : 1),
           b = (double)what->n * (batch->stride_b ? (double)batch->count : 1), k = (double)what->k,
           bytes = 12 * k * (a + b), far = fmax(bytes - card->cached, 0);
    int is_loose_a = !split_is_wide(what->m, what->a_row, what->a_col, batch->stride_a),
        is_loose_b = !split_is_wide(what->n, what->b_col, what->b_row, batch->stride_b);
    double loose = k * (is_loose_a * a + is_loose_b * b) * card->loose,
           near = far < bytes ? (bytes - far) / card->cached_bytes : 0,
           waits = fmax(a + b - card->lines_at_once, 0) * card->parts_line;
    return card->parts_start + fmax(waits, near + far / card->parts_bytes) + loose;
}

static double plain_time(const split_card *card, const problem *what, int sms) {
    double operations = 2 * (double)what->m * (double)what->n * (double)what->k * (double)what->batch.count;
    return card->plain_start + operations / (card->plain_rate * sms);
}

static int is_wanted(void) {
    const char *text = getenv("TESSERA_SPLIT");
    return text && *text ? atoi(text) != 0 : SPLIT_BY_DEFAULT;
}

/* A tiling and the card. */
typedef struct timed {
    const split_card *card;
    const split_tiling *tiles;
    int sms;
} timed;

/* Nanoseconds of shares of k. A remainder would be split for itself, and might go another way. */
static double time_of_shares(const void *with, const problem *run) {
    const timed *t = with;
    if (run->batch.count == 1) return HUGE_VAL;
    return 1e9 * (pack_time(t->card, run) + tile_time(run, t->tiles, t->sms));
}

choice cuda_choose_split(const cuda_device *self, const problem *what, choice_cut *cut, double *time,
                         double *plain) {
    const choice none = {NULL, NULL, NULL};
    const split_card *card = card_of(self);
    if (what->in != TESS_F32 || what->compute != TESS_COMPUTE_DEFAULT || what->k < LEAST_K) return none;
    if (!card || !is_wanted()) return none;
    const split_tiling *best = &card->tilings[0];
    int sms = self->facts->gpu.sms;
    int64_t share = 0;
    for (int i = 1; i < card->count; i++)
        if (tile_time(what, &card->tilings[i], sms) < tile_time(what, best, sms)) best = &card->tilings[i];
    *time = 1e9 * (pack_time(card, what) + tile_time(what, best, sms));
    *plain = 1e9 * plain_time(card, what, sms);
    double shared = cuda_worth_sharing(*time);
    for (int i = 0; i < card->count; i++) {
        const timed with = {card, &card->tilings[i], sms};
        double tiles = cuda_tiles(what, with.tiles->rows, with.tiles->cols);
        const cuda_sharing by = {tiles, sms, SPLIT_DEPTH, time_of_shares, &with};
        int64_t found = cuda_choose_share(what, &by, &shared);
        if (found > 0) share = found, best = with.tiles, *time = shared;
    }
    if (card->reckoned && *time >= *plain) return none;
    cut->share = share;
    int is_short = what->k < LEAST_K_OF_THREE && best->params_of_short;
    return (choice){card->kernel, is_short ? best->params_of_short : best->params, card->reason};
}
