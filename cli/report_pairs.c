/* report_pairs.c: figures that hold one thing against another: tiles of 16 and 32, types, copies and arithmetic, cold
 * and warm caches.
 *
 * Invariant: a row is drawn only if both sides of it are there; a figure without rows is said to be missing, with the
 * command that makes it.
 */
#include "report.h"
#include "report_figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_of(const report_group *group, const report_rate *rate) {
    const report_rate *like = group->like;
    return strcmp(rate->device, like->device) == 0 && rate->threads == like->threads &&
           strcmp(rate->mode, like->mode) == 0 && rate->origin == like->origin && rate->m == rate->n &&
           rate->n == rate->k && rate->batch == 1;
}

static size_t find_row(chart *c, const char *name) {
    for (size_t i = 0; i < c->row_count; i++)
        if (strcmp(c->rows[i], name) == 0) return i;
    return chart_add_row(c, name);
}

static chart_series *find_series(chart *c, const char *name) {
    for (size_t i = 0; i < c->series_count; i++)
        if (strcmp(c->series[i].name, name) == 0) return &c->series[i];
    return NULL;
}

/* Removes rows that lack the first bar, which the others are held against, or have no other. */
static void drop_lonely_rows(chart *c) {
    size_t kept = 0;
    for (size_t row = 0; row < c->row_count; row++) {
        size_t there = 0;
        for (size_t i = 0; i < c->series_count; i++) there += isfinite(chart_at(&c->series[i], row)->y) != 0;
        if (there < 2 || !isfinite(chart_at(&c->series[0], row)->y)) continue;
        memmove(c->rows[kept], c->rows[row], sizeof *c->rows);
        for (size_t i = 0; i < c->series_count; i++) c->series[i].points[kept] = c->series[i].points[row];
        kept++;
    }
    c->row_count = kept;
    for (size_t i = 0; i < c->series_count; i++) c->series[i].count = kept;
}

/* The second bar against the first, beside it. */
static void note_ratios(chart *c) {
    for (size_t row = 0; row < c->row_count; row++)
        for (size_t i = 1; i < c->series_count; i++) {
            chart_point *p = chart_at(&c->series[i], row), *first = chart_at(&c->series[0], row);
            if (isfinite(p->y) && first->y > 0) snprintf(p->note, sizeof p->note, "%.2f", p->y / first->y);
        }
}

/* Puts the figure in its final form, or takes it away and says what would make it. */
static bool finish(report *r, report_figures *f, const report_group *group, const char *missing) {
    report_figure *figure = &f->all[f->count - 1];
    drop_lonely_rows(figure->picture);
    if (figure->picture->row_count > 0) {
        note_ratios(figure->picture);
        figure_set_source(r, figure, group);
        figure_add_throttled(figure);
        return true;
    }
    chart_free(figure->picture);
    f->count--;
    if (missing != NULL) report_miss(r, "%s", missing);
    return false;
}

static double largest_like(const report *r, const report_group *group) {
    double largest = 0;
    for (size_t i = 0; i < r->rate_count; i++)
        if (is_of(group, &r->rates[i])) largest = fmax(largest, r->rates[i].gflops);
    return largest;
}

static report_figure *begin(const report *r, report_figures *f, const report_group *group, const char *base,
                            double *unit) {
    char name[REPORT_NAME];
    snprintf(name, sizeof name, "%s%s", base, strcmp(group->family, "cpu") == 0 ? "-cpu" : "");
    report_figure *figure = report_add_figure(f, CHART_BARS, name, group->like->origin);
    *unit = figure_set_unit(figure->picture, largest_like(r, group));
    snprintf(figure->picture->row_title, CHART_NAME, "kernel");
    return figure;
}

/* ---- Tiles ---- */

/* The edge of a block, where that is all that was set: 16 of "TILE=16" and of "BX=16,BY=16"; else 0. */
static int tile_of(const char *params) {
    int x, y, end = 0;
    if (sscanf(params, "TILE=%d%n", &x, &end) == 1 && params[end] == '\0') return x;
    if (sscanf(params, "BX=%d,BY=%d%n", &x, &y, &end) == 2 && params[end] == '\0' && x == y) return x;
    return 0;
}

/* The size that most rates with a tile have. */
static int64_t tile_size(const report *r, const report_group *group) {
    int64_t best = 0;
    size_t most = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        size_t count = 0;
        if (!is_of(group, &r->rates[i]) || tile_of(r->rates[i].params) == 0) continue;
        for (size_t j = 0; j < r->rate_count; j++)
            count += is_of(group, &r->rates[j]) && tile_of(r->rates[j].params) != 0 &&
                     r->rates[j].m == r->rates[i].m;
        if (count > most || (count == most && r->rates[i].m > best)) most = count, best = r->rates[i].m;
    }
    return best;
}

/* Rows in the order of the ladder, whatever that of the files. Those that stay empty are dropped in the end. */
static void add_rungs(chart *c) {
    tess_kernel_info info;
    char label[CHART_NAME];
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (tess_describe_kernel(i, &info) != TESS_OK) continue;
        report_short_name(info.name, label);
        find_row(c, label);
    }
}

void figure_make_tile(report *r, report_figures *f, const report_group *group) {
    if (strcmp(group->family, "cpu") == 0 || !report_wants(r, "tile")) return;
    double unit;
    int64_t size = tile_size(r, group);
    report_figure *figure = begin(r, f, group, "tile", &unit);
    chart *c = figure->picture;
    snprintf(c->title, sizeof c->title, "Blocks of 16 against 32 at %" PRId64 ", %s", size, group->type);
    snprintf(c->note_title, sizeof c->note_title, "32 : 16");
    chart_add_series(c, "16");
    chart_add_series(c, "32");
    add_rungs(c);
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        char label[CHART_NAME], edge[16];
        snprintf(edge, sizeof edge, "%d", tile_of(rate->params));
        chart_series *s = find_series(c, edge);
        if (s == NULL || !is_of(group, rate) || rate->m != size || strcmp(rate->type, group->type) != 0)
            continue;
        report_short_name(rate->kernel, label);
        figure_set_point(chart_at(s, find_row(c, label)), rate, unit);
        figure_add_command(figure, rate);
    }
    figure_caption(
        figure,
        "The edge of a thread block, and of a shared tile where the kernel has one. A tile of 32 fetches "
        "each element of A and B half as often as one of 16; whether that pays depends on what the "
        "kernel waits for.");
    if (!finish(r, f, group,
                "Blocks of 16 against 32: tessera bench --kernels 'simt_0[1-6]*,simt_08*' --tile 16,32 "
                "--sizes 4096 "
                "--csv tile.csv"))
        return;
    if (figure->origin == REPORT_PREDICTED)
        figure_set_command(figure,
                           "tessera explain 5 --params TILE=16 --gpu '%s' --size %" PRId64
                           "   # each kernel and tile",
                           r->on->name, size);
    else
        figure_set_command(figure,
                           "tessera bench --device %s --kernels 'simt_0[1-6]*,simt_08*' --tile 16,32 --sizes "
                           "%" PRId64 " --type %s --csv tile.csv",
                           group->like->device, size, group->type);
    report_draw_command(r, figure);
}

/* ---- Types ---- */

/* Whether the kernel has rates of this size in f32, which the others are held against, and in another type. */
static bool has_types(const report *r, const report_group *group, const report_rate *of) {
    bool plain = false, other = false;
    if (report_is_peer(r, group, of->kernel)) return false;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        if (!is_of(group, rate) || !report_is_plain(rate) || rate->m != of->m ||
            !report_same_kernel(rate->kernel, of->kernel))
            continue;
        bool is_f32 = strcmp(rate->type, "f32") == 0;
        plain = plain || is_f32;
        other = other || !is_f32;
    }
    return plain && other;
}

/* Whether the same was measured before this one. */
static bool is_again(const report *r, const report_group *group, size_t index) {
    const report_rate *rate = &r->rates[index];
    for (size_t i = 0; i < index; i++) {
        const report_rate *other = &r->rates[i];
        if (other->m == rate->m && strcmp(other->type, rate->type) == 0 && is_of(group, other) &&
            report_is_plain(other) && report_same_kernel(other->kernel, rate->kernel))
            return true;
    }
    return false;
}

/* Kernels in their types at a size; what was measured several times counts once. */
static size_t count_types(const report *r, const report_group *group, int64_t size) {
    size_t count = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        count += rate->m == size && is_of(group, rate) && report_is_plain(rate) && !is_again(r, group, i) &&
                 has_types(r, group, rate);
    }
    return count;
}

static int64_t types_size(const report *r, const report_group *group) {
    int64_t best = 0, last = 0;
    size_t most = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        int64_t size = r->rates[i].m;
        if (size == last || size == best) continue;
        last = size;
        size_t count = count_types(r, group, size);
        if (count > most || (count == most && count > 0 && size > best)) most = count, best = size;
    }
    return best;
}

void figure_make_types(report *r, report_figures *f, const report_group *group) {
    static const char *const order[] = {"f32",  "i32",      "f64", "f16",   "f16:f32",
                                        "bf16", "bf16:f32", "i8",  "i8:i32"};
    if (!report_wants(r, "types")) return;
    double unit;
    int64_t size = types_size(r, group);
    report_figure *figure = begin(r, f, group, "types", &unit);
    chart *c = figure->picture;
    snprintf(c->title, sizeof c->title, "Types of numbers at %" PRId64 "%s", size, figure_place(group));
    snprintf(c->note_title, sizeof c->note_title, "× f32");
    for (size_t t = 0; t < sizeof order / sizeof *order; t++) {
        chart_series *s = NULL;
        for (size_t i = 0; i < r->rate_count; i++) {
            const report_rate *rate = &r->rates[i];
            char label[CHART_NAME];
            if (rate->m != size || strcmp(rate->type, order[t]) != 0 || !is_of(group, rate) ||
                !report_is_plain(rate) || !has_types(r, group, rate))
                continue;
            report_short_name(rate->kernel, label);
            if (s == NULL) s = chart_add_series(c, order[t]);
            figure_set_point(chart_at(s, find_row(c, label)), rate, unit);
            figure_add_command(figure, rate);
        }
    }
    figure_caption(figure, "The same kernel with its element type exchanged: two operations for each "
                           "multiply-add, of "
                           "integers as of floating-point numbers.");
    bool cpu = strcmp(group->family, "cpu") == 0;
    if (!finish(r, f, group,
                cpu ? "Types of numbers on the CPU: tessera bench auto --device cpu --sizes 512 --type "
                      "f32,f64,i32,bf16,i8 "
                      "--csv types.csv"
                    : "Float against int: tessera bench --kernels 'simt_*' --sizes 4096 --type f32,i32,f64 "
                      "--csv types.csv"))
        return;
    if (figure->origin == REPORT_PREDICTED) {
        figure_set_command(figure, "tessera explain --gpu '%s' --size %" PRId64 " --type i32   # f32, f64",
                           r->on->name, size);
    } else {
        char types[128] = "";
        for (size_t i = 0; i < c->series_count; i++) {
            size_t used = strlen(types);
            snprintf(types + used, sizeof types - used, "%s%.16s", i > 0 ? "," : "", c->series[i].name);
        }
        figure_set_command(figure,
                           "tessera bench --device %s --kernels '%s' --sizes %" PRId64
                           " --type %s --csv types.csv",
                           group->like->device, strcmp(group->family, "cpu") == 0 ? "auto" : "simt_*", size,
                           types);
    }
    report_draw_command(r, figure);
}

/* ---- Copies and arithmetic ---- */

/* The time of the kernel alone, from a rate with the matrices on the device. */
static double kernel_ms(const report *r, const report_group *group, const report_rate *call) {
    const char *colon = strchr(call->kernel, ':');
    const report_rate *alone = report_find_rate(r, group, call->kernel, call->m);
    if (alone == NULL && colon != NULL) alone = report_find_rate(r, group, colon + 1, call->m);
    return alone != NULL && strcmp(alone->type, call->type) == 0 ? alone->ms : (double)NAN;
}

static void set_part(chart *c, size_t part, size_t row, double ms, double whole) {
    if (!(ms > 0)) return;
    chart_point *p = chart_at(&c->series[part], row);
    p->y = 100 * ms / whole;
    char number[32];
    chart_show(ms, number);
    snprintf(p->note, sizeof p->note, "%.20s ms", number);
}

static bool is_call(const report_group *group, const report_rate *rate) {
    return rate->h2d_ms > 0 && rate->m == rate->n && rate->n == rate->k &&
           strcmp(rate->type, group->type) == 0;
}

static bool is_planned(const report_rate *rate) {
    return report_same_kernel(rate->kernel, "auto");
}

static bool has_planned_calls(const report *r, const report_group *group) {
    for (size_t i = 0; i < r->rate_count; i++)
        if (is_call(group, &r->rates[i]) && is_planned(&r->rates[i])) return true;
    return false;
}

/* Of calls, those are shown that a program makes: the planner's choice, where there is one. */
void figure_make_split(report *r, report_figures *f, const report_group *group) {
    if (strcmp(group->family, "cpu") == 0 || !report_wants(r, "split")) return;
    report_figure *figure = report_add_figure(f, CHART_BARS, "split", REPORT_MEASURED);
    chart *c = figure->picture;
    snprintf(c->title, sizeof c->title, "Copies and arithmetic of one call, %s", group->type);
    snprintf(c->y_title, sizeof c->y_title, "%% of the whole call");
    bool planned = has_planned_calls(r, group);
    snprintf(c->row_title, sizeof c->row_title, planned ? "size" : "kernel and size");
    static const char *const parts[] = {"to device", "kernel", "to host", "whole call"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) chart_add_series(c, parts[i]);
    c->series[3].neutral = true;
    char sizes[128] = "";
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        if (!is_call(group, rate) || is_planned(rate) != planned) continue;
        char label[CHART_NAME], name[CHART_NAME];
        report_short_name(rate->kernel, name);
        snprintf(label, sizeof label, "%.40s%s%" PRId64, planned ? "" : name, planned ? "" : ", ", rate->m);
        size_t row = find_row(c, label), used = strlen(sizes);
        set_part(c, 0, row, rate->h2d_ms, rate->ms);
        set_part(c, 1, row, kernel_ms(r, group, rate), rate->ms);
        set_part(c, 2, row, rate->d2h_ms, rate->ms);
        set_part(c, 3, row, rate->ms, rate->ms);
        figure_add_command(figure, rate);
        snprintf(sizes + used, sizeof sizes - used, "%s%" PRId64, used > 0 ? "," : "", rate->m);
    }
    if (c->row_count == 0) {
        chart_free(c);
        f->count--;
        report_miss(r, "Copies and arithmetic of one call (needs a GPU): tessera bench auto --sizes "
                       "1024,4096,8192 "
                       "--transfers --csv transfers.csv");
        return;
    }
    figure_set_source(r, figure, group);
    figure_caption(
        figure,
        "A product whose matrices lie in host memory. Copies to the device, the kernel and the copy back "
        "overlap, so the parts may add up to more than the whole. The kernel's time is that of the same "
        "kernel with its matrices on the device.");
    figure_set_command(figure,
                       "tessera bench auto --device %s --sizes %s --type %s --transfers --csv transfers.csv",
                       group->like->device, sizes, group->type);
    report_draw_command(r, figure);
}

/* ---- Caches ---- */

/* The same product from warm caches. */
static const report_rate *warm_twin(const report *r, const report_rate *cold) {
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *w = &r->rates[i];
        if (strcmp(w->cache, "cold") != 0 && strcmp(w->kernel, cold->kernel) == 0 && w->m == cold->m &&
            w->n == cold->n && w->k == cold->k && w->batch == cold->batch &&
            strcmp(w->type, cold->type) == 0 && strcmp(w->params, cold->params) == 0 &&
            strcmp(w->device, cold->device) == 0 && w->threads == cold->threads &&
            strcmp(w->mode, cold->mode) == 0 && isnan(w->h2d_ms) == isnan(cold->h2d_ms))
            return w;
    }
    return NULL;
}

void figure_make_cache(report *r, report_figures *f, const report_group *group) {
    if (group->like->origin != REPORT_MEASURED || !report_wants(r, "cache")) return;
    double unit;
    report_figure *figure = begin(r, f, group, "cache", &unit);
    chart *c = figure->picture;
    snprintf(c->title, sizeof c->title, "Cold against warm caches, %s%s", group->type, figure_place(group));
    snprintf(c->note_title, sizeof c->note_title, "cold : warm");
    snprintf(c->row_title, sizeof c->row_title, "kernel and size");
    chart_add_series(c, "warm");
    chart_add_series(c, "cold");
    const report_rate *any = NULL;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *cold = &r->rates[i];
        if (strcmp(cold->cache, "cold") != 0 || strcmp(report_family(cold), group->family) != 0 ||
            strcmp(cold->type, group->type) != 0 || warm_twin(r, cold) == NULL)
            continue;
        char label[CHART_NAME], name[CHART_NAME];
        report_short_name(cold->kernel, name);
        snprintf(label, sizeof label, "%.40s, %" PRId64, name, cold->m);
        size_t row = find_row(c, label);
        figure_set_point(chart_at(&c->series[0], row), warm_twin(r, cold), unit);
        figure_set_point(chart_at(&c->series[1], row), cold, unit);
        figure_add_command(figure, warm_twin(r, cold));
        figure_add_command(figure, cold);
        any = cold;
    }
    figure_caption(figure, "Warm: the operands were just used. Cold: something else filled the caches before "
                           "each run. A "
                           "large product reads its operands so often that the first time hardly counts.");
    char missing[REPORT_TEXT];
    snprintf(missing, sizeof missing,
             "Cold against warm%s: tessera bench auto --device %s --sizes 256:4096:x2 --cold --csv cold.csv, "
             "and the "
             "same without --cold",
             strcmp(group->family, "cpu") == 0 ? " on the CPU" : "", group->like->device);
    if (!finish(r, f, group, missing)) return;
    figure_set_command(figure,
                       "tessera bench --device %s --kernels %.*s --sizes %" PRId64
                       " --type %s --cold --csv cold.csv   # and without "
                       "--cold",
                       group->like->device, (int)strcspn(any->kernel, ":"), any->kernel, any->m, any->type);
    report_draw_command(r, figure);
}
