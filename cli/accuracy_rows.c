/* accuracy_rows.c: the table of `verify --accuracy`, and what a row must keep to pass.
 *
 * Comparisons are written so that NaN fails. */
#include "accuracy_rows.h"
#include "say.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    KERNEL,
    DATA,
    M,
    N,
    K,
    SEEDS,
    WAY,
    REL_ERROR,
    PEER_REL,
    RATIO,
    MAX_ERROR,
    PEER_MAX,
    MEAN,
    PEER_MEAN,
    ALLOWED,
    WRONG,
    PEER,
    RESULT,
    COLUMNS
};
static const table_column columns[COLUMNS] = {
    [KERNEL] = {"kernel", "kernel", TABLE_TEXT, TABLE_IN_FILES, 22},
    [DATA] = {"data", "data", TABLE_TEXT, TABLE_IN_FILES, 14},
    [M] = {"m", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [N] = {"n", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [K] = {"k", "k", TABLE_COUNT, TABLE_IN_FILES, 5},
    [SEEDS] = {"seeds", NULL, TABLE_COUNT, TABLE_IN_FILES, 0},
    [WAY] = {"way", "way", TABLE_TEXT, TABLE_IN_FILES, 6},
    [REL_ERROR] = {"rel_error", "Frobenius", TABLE_ERROR, TABLE_IN_FILES, 9},
    [PEER_REL] = {"peer_rel_error", "peer's", TABLE_ERROR, TABLE_IN_FILES, 7},
    [RATIO] = {"rel_error_ratio", "ratio", TABLE_RATIO, TABLE_IN_FILES, 5},
    [MAX_ERROR] = {"max_error", "max/|A||B|", TABLE_ERROR, TABLE_IN_FILES, 10},
    [PEER_MAX] = {"peer_max_error", "peer's", TABLE_ERROR, TABLE_IN_FILES, 7},
    [MEAN] = {"mean_error", "mean", TABLE_ERROR, TABLE_IN_FILES, 8},
    [PEER_MEAN] = {"peer_mean_error", "peer's", TABLE_ERROR, TABLE_IN_FILES, 8},
    [ALLOWED] = {"max_allowed", NULL, TABLE_ERROR, TABLE_IN_FILES, 0},
    [WRONG] = {"wrong", "wrong", TABLE_COUNT, TABLE_IN_FILES, 0},
    [PEER] = {"peer", NULL, TABLE_TEXT, TABLE_IN_FILES, 0},
    [RESULT] = {"result", "result", TABLE_TEXT, TABLE_IN_FILES, 0},
};

/* From this k on the Frobenius error of parts is held against the peer's. Of two that are equally good either may have
 * the smaller one by chance, by about a hundredth. */
enum { JUDGED_FROM = 64 };
static const double by_chance = 1.01;

static const unsigned by_parts = 1u << TESS_WAY_FP16X3 | 1u << TESS_WAY_BF16X6;

void accuracy_rows_open(accuracy_rows *r, bool people, const char *peer_name) {
    *r = (accuracy_rows){.people = people, .peer = peer_name};
    table_open(&r->t, columns, COLUMNS);
}

/* "fp16x3", "bf16x6+f32"; "" where the kernel has but one way. */
static void show_ways(unsigned ways, char text[32]) {
    static const char *const names[] = {"", "fp16x3", "bf16x6", "f32"};
    size_t used = 0;
    text[0] = '\0';
    for (int way = TESS_WAY_FP16X3; way <= TESS_WAY_F32; way++)
        if (ways >> way & 1)
            used += (size_t)snprintf(text + used, 32 - used, "%s%s", used > 0 ? "+" : "", names[way]);
}

static void begin_row(accuracy_rows *r, const accuracy_case *c, const char *data, int64_t seeds,
                      const accuracy_tally *ours) {
    char ways[32];
    show_ways(ours->ways, ways);
    table_add_row(&r->t);
    table_set_text(&r->t, KERNEL, ours->planned);
    table_set_text(&r->t, DATA, data);
    table_set_count(&r->t, M, c->m);
    table_set_count(&r->t, N, c->n);
    table_set_count(&r->t, K, c->k);
    table_set_count(&r->t, SEEDS, seeds);
    table_set_text(&r->t, WAY, ways);
    if (r->peer != NULL) table_set_text(&r->t, PEER, r->peer);
}

/* `broken` is empty, or what does not hold. */
static void end_row(accuracy_rows *r, const accuracy_case *c, const char *data, const accuracy_tally *ours,
                    const char *broken) {
    bool right = broken[0] == '\0';
    table_set_text(&r->t, RESULT, right ? "PASS" : "FAIL");
    table_set_tone(&r->t, RESULT, right ? TABLE_GOOD : TABLE_BAD);
    if (!right) {
        r->failed++;
        say_error("%s on %s, k = %" PRId64 ": %s", ours->planned, data, c->k, broken);
    }
    if (r->people) table_print(&r->t, stdout);
}

/* ---- Random data ---- */

/* Multiply-adds of f32 are f32's arithmetic themselves, in whatever order; parts must not be worse than the peer's. */
static void judge(const accuracy_rows *r, const accuracy_kind *kind, int64_t k, const accuracy_tally *ours,
                  const accuracy_tally *beside, double allowed, char broken[256]) {
    const double u = ACCURACY_U, error = accuracy_frobenius(ours), other = accuracy_frobenius(beside),
                 mean = fabs(accuracy_mean(ours));
    bool compared = r->peer != NULL && k >= JUDGED_FROM && (ours->ways & by_parts);
    broken[0] = '\0';
    if (!(ours->most <= allowed))
        snprintf(broken, 256, "the largest error is %.3g u of |A||B|, more than %.3g u", ours->most / u,
                 allowed / u);
    else if (compared && !(error <= by_chance * other))
        snprintf(broken, 256, "its Frobenius error is %.3g u, that of %s %.3g u", error / u, r->peer,
                 other / u);
    else if (kind->uniform && !(mean <= 4 * u))
        snprintf(broken, 256, "its mean error is %.3g u, more than 4 u", mean / u);
    else if (kind->uniform && compared && !(mean <= other))
        snprintf(broken, 256, "its mean error is %.3g u, the Frobenius error of %s %.3g u", mean / u, r->peer,
                 other / u);
}

void accuracy_add_random(accuracy_rows *r, const accuracy_case *c, const accuracy_kind *kind, int64_t seeds,
                         const accuracy_tally *ours, const accuracy_tally *beside) {
    double bound = (double)(c->k + 8) * ACCURACY_U,
           allowed = r->peer != NULL ? fmax(beside->most, bound) : bound, other = accuracy_frobenius(beside);
    char broken[256];
    begin_row(r, c, kind->name, seeds, ours);
    table_set_real(&r->t, REL_ERROR, accuracy_frobenius(ours));
    table_set_real(&r->t, MAX_ERROR, ours->most);
    table_set_real(&r->t, MEAN, accuracy_mean(ours));
    table_set_real(&r->t, ALLOWED, allowed);
    if (r->peer != NULL) {
        table_set_real(&r->t, PEER_REL, other);
        if (other > 0) table_set_real(&r->t, RATIO, accuracy_frobenius(ours) / other);
        table_set_real(&r->t, PEER_MAX, beside->most);
        table_set_real(&r->t, PEER_MEAN, accuracy_mean(beside));
    }
    judge(r, kind, c->k, ours, beside, allowed, broken);
    end_row(r, c, kind->name, ours, broken);
}

/* ---- Exact data ---- */

/* What has a bound of its own is judged by the library's check, which counts underflow and overflow. */
static int64_t outside_bound(const accuracy_case *c) {
    tess_matrix A = tess_view_row_major(TESS_F32, c->m, c->k, c->a, 0),
                B = tess_view_row_major(TESS_F32, c->k, c->n, c->b, 0),
                C = tess_view_row_major(TESS_F32, c->m, c->n, c->c, 0);
    tess_check check;
    if (tess_check_gemm(1, &A, &B, 0, NULL, &C, TESS_CHECK_ORACLE, 1, &check) != TESS_OK) return c->m * c->n;
    return check.wrong;
}

/* Elements that are not as they must be. */
static int64_t count_wrong(const accuracy_case *c, accuracy_exact what, const accuracy_tally *ours,
                           const float *like, double *allowed) {
    *allowed = 0;
    switch (what) {
    case ACCURACY_INTEGERS: return ours->unequal;
    case ACCURACY_IDENTITY:
    case ACCURACY_WIDE_IDENTITY:
        *allowed = ours->ways >> TESS_WAY_FP16X3 & 1 ? 2 * ACCURACY_U : 0;
        return ours->most <= *allowed ? 0 : ours->unequal;
    case ACCURACY_SUBNORMAL:
    case ACCURACY_UNDERFLOW:
    case ACCURACY_LARGEST: *allowed = (double)(c->k + 8) * ACCURACY_U; return outside_bound(c);
    default: return accuracy_misplaced(c, like);
    }
}

void accuracy_add_exact(accuracy_rows *r, const accuracy_case *c, accuracy_exact what,
                        const accuracy_tally *ours, const float *like) {
    char broken[256] = "";
    double allowed;
    int64_t wrong = count_wrong(c, what, ours, like, &allowed);
    begin_row(r, c, accuracy_exact_names[what], 1, ours);
    if (!accuracy_is_special(what)) {
        table_set_real(&r->t, REL_ERROR, accuracy_frobenius(ours));
        table_set_real(&r->t, MAX_ERROR, ours->most);
        table_set_real(&r->t, ALLOWED, allowed);
    }
    table_set_count(&r->t, WRONG, wrong);
    if (wrong > 0)
        snprintf(broken, sizeof broken, "%" PRId64 " of %" PRId64 " elements are wrong", wrong, c->m * c->n);
    end_row(r, c, accuracy_exact_names[what], ours, broken);
}
