/* report_select.c: which rates may stand beside each other, and in what order.
 *
 * Invariant: the rates of one group were made with the same device, number of threads and way of timing; what differs
 * is the kernel and the size.
 */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *report_family(const report_rate *rate) {
    return strncmp(rate->device, "cpu", 3) == 0 ? "cpu" : "gpu";
}

bool report_is_plain(const report_rate *r) {
    return r->m == r->n && r->n == r->k && r->batch == 1 && r->params[0] == '\0' && isnan(r->h2d_ms) &&
           strcmp(r->cache, "cold") != 0 && (r->layout[0] == '\0' || strcmp(r->layout, "nn") == 0) &&
           (r->compute[0] == '\0' || strcmp(r->compute, "default") == 0) && r->alpha == 1 && r->beta == 0;
}

static bool are_alike(const report_rate *a, const report_rate *b) {
    return strcmp(a->device, b->device) == 0 && a->threads == b->threads && strcmp(a->mode, b->mode) == 0 &&
           a->origin == b->origin;
}

/* Whether a rate with the same settings, and the same kernel and size if `same`, comes before this one. */
static bool came_before(const report *r, size_t index, bool same) {
    const report_rate *rate = &r->rates[index];
    for (size_t i = 0; i < index; i++) {
        const report_rate *other = &r->rates[i];
        if (strcmp(other->type, rate->type) != 0 || !are_alike(other, rate) || !report_is_plain(other))
            continue;
        if (!same || (other->m == rate->m && strcmp(other->kernel, rate->kernel) == 0)) return true;
    }
    return false;
}

/* Kernels and sizes with these settings; one that was measured several times counts once. */
static size_t count_alike(const report *r, const char *type, const report_rate *like) {
    size_t count = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        count += strcmp(rate->type, type) == 0 && report_is_plain(rate) && are_alike(rate, like) &&
                 !came_before(r, i, true);
    }
    return count;
}

bool report_find_group(const report *r, const char *family, const char *type, report_group *group) {
    size_t most = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        if (strcmp(report_family(rate), family) != 0 || strcmp(rate->type, type) != 0 ||
            !report_is_plain(rate) || came_before(r, i, false))
            continue;
        size_t count = count_alike(r, type, rate);
        if (count < most || (count == most && rate->threads <= group->like->threads)) continue;
        *group = (report_group){family, type, rate};
        most = count;
    }
    return most > 0;
}

bool report_in_group(const report_group *group, const report_rate *rate) {
    return strcmp(rate->type, group->type) == 0 && report_is_plain(rate) && are_alike(rate, group->like);
}

bool report_same_kernel(const char *a, const char *b) {
    bool both = strncmp(a, "auto", 4) == 0 && strncmp(b, "auto", 4) == 0;
    return both || strcmp(a, b) == 0;
}

const report_rate *report_find_rate(const report *r, const report_group *group, const char *kernel,
                                    int64_t size) {
    const report_rate *found = NULL;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        if (rate->m != size || !report_in_group(group, rate) || !report_same_kernel(rate->kernel, kernel))
            continue;
        if (found == NULL || (isnan(found->ratio) && !isnan(rate->ratio))) found = rate;
    }
    return found;
}

/* The place of a kernel in the registry; those it does not know come last, peers before none. */
static int place_of(const char *kernel) {
    tess_kernel_info info;
    int count = tess_count_kernels();
    for (int i = 0; i < count; i++)
        if (tess_describe_kernel(i, &info) == TESS_OK && strcmp(info.name, kernel) == 0)
            return info.number == 0 ? count + 1 : i;
    return count;
}

static int by_place(const void *a, const void *b) {
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int difference = place_of(x) - place_of(y);
    return difference != 0 ? difference : strcmp(x, y);
}

bool report_is_peer(const report *r, const report_group *group, const char *kernel) {
    const char *peer;
    for (size_t i = 0; (peer = report_peer(r, group, i)) != NULL; i++)
        if (strcmp(peer, kernel) == 0) return true;
    return false;
}

size_t report_list_kernels(const report *r, const report_group *group, const char ***names) {
    size_t count = 0;
    *names = NULL;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        size_t known = 0;
        /* A peer that was also run by itself is drawn once, as the peer. */
        if (!report_in_group(group, rate) || report_is_peer(r, group, rate->kernel)) continue;
        while (known < count && !report_same_kernel((*names)[known], rate->kernel)) known++;
        if (known < count) continue;
        *names = report_grow(*names, count, sizeof **names);
        (*names)[count++] = rate->kernel;
    }
    if (count > 0) qsort(*names, count, sizeof **names, by_place);
    return count;
}

int64_t report_best_size(const report *r, const report_group *group) {
    const char **names;
    size_t count = report_list_kernels(r, group, &names), most = 0;
    int64_t best = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        int64_t size = r->rates[i].m;
        size_t have = 0;
        if (!report_in_group(group, &r->rates[i]) || size == best) continue;
        /* The planner's choice is one of the kernels. */
        for (size_t j = 0; j < count; j++)
            have += (count == 1 || !report_same_kernel(names[j], "auto")) &&
                    report_find_rate(r, group, names[j], size) != NULL;
        if (have > most || (have == most && size > best)) most = have, best = size;
    }
    free(names);
    return best;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of what `value` finds in the rates of a group; NaN if it finds nothing. */
static double median_of(const report *r, const report_group *group,
                        double (*value)(const report_rate *rate, const void *data), const void *data) {
    double *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        double one = report_in_group(group, &r->rates[i]) ? value(&r->rates[i], data) : (double)NAN;
        if (!(one > 0) || !isfinite(one)) continue;
        found = report_grow(found, count, sizeof *found);
        found[count++] = one;
    }
    if (count > 0) qsort(found, count, sizeof *found, by_value);
    double median = count == 0 ? (double)NAN : (found[(count - 1) / 2] + found[count / 2]) / 2;
    free(found);
    return median;
}

typedef struct peer_at {
    const char *peer;
    int64_t size;
} peer_at;

static double peer_value(const report_rate *rate, const void *data) {
    const peer_at *at = data;
    bool meant = strcmp(rate->peer, at->peer) == 0 && (at->size == 0 || rate->m == at->size);
    return meant ? rate->peer_gflops : (double)NAN;
}

double report_peer_rate(const report *r, const report_group *group, const char *peer, int64_t size) {
    const peer_at at = {peer, size};
    return median_of(r, group, peer_value, &at);
}

static double peak_value(const report_rate *rate, const void *data) {
    (void)data;
    return 100 * rate->gflops / rate->pct_peak;
}

double report_peak(const report *r, const report_group *group) {
    return median_of(r, group, peak_value, NULL);
}

const char *report_peer(const report *r, const report_group *group, size_t index) {
    const char *seen[8];
    size_t count = 0;
    for (size_t i = 0; i < r->rate_count; i++) {
        const report_rate *rate = &r->rates[i];
        size_t known = 0;
        if (!report_in_group(group, rate) || rate->peer[0] == '\0') continue;
        while (known < count && strcmp(seen[known], rate->peer) != 0) known++;
        if (known < count) continue;
        if (count == index) return rate->peer;
        if (count == sizeof seen / sizeof *seen) return NULL;
        seen[count++] = rate->peer;
    }
    return NULL;
}

void report_short_name(const char *kernel, char out[CHART_NAME]) {
    char family[16] = "";
    int number, end = 0;
    bool numbered = sscanf(kernel, "%15[a-z]_%2d_%n", family, &number, &end) == 2 && end > 0;
    bool first = strcmp(family, "simt") == 0 || strcmp(family, "cpu") == 0;
    if (strncmp(kernel, "auto", 4) == 0)
        snprintf(out, CHART_NAME, "auto");
    else if (numbered)
        snprintf(out, CHART_NAME, "%s%s%d %s", first ? "" : family, first ? "" : " ", number, kernel + end);
    else
        snprintf(out, CHART_NAME, "%s", kernel);
}
