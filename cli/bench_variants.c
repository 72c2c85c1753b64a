/* bench_variants.c: from a list of kernels to a list of kernels with parameters.
 *
 * Invariant: each kernel is there at least once; --tile makes a variant for each of its values only of
 * kernels that have a tile or a block to set, --sweep one for each combination.
 */
#include "bench_variants.h"
#include "bench_sweep.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES_MAX = 16, LARGEST_TILE = 1024 };

/* Reads "16,32". Returns false after a sentence. */
static bool read_tiles(const char *text, int64_t tiles[TILES_MAX], size_t *count) {
    *count = 0;
    for (const char *item = text;; item++) {
        const char *end = item + strcspn(item, ",");
        int64_t number;
        if (*count == TILES_MAX || !sizes_parse_one(item, end, &number) || number < 1 ||
            number > LARGEST_TILE) {
            say_error("--tile is '%s'; it must be a list of at most %d sizes from 1 to %d, as 16,32", text,
                      TILES_MAX, LARGEST_TILE);
            return false;
        }
        tiles[(*count)++] = number;
        if (*end == '\0') return true;
        item = end;
    }
}

/* Whether the parameters given already name one that --tile sets. */
static bool names_a_tile(const char *params) {
    static const char *const names[] = {"TILE=", "BX=", "BY="};
    for (const char *item = params; item != NULL; item = strchr(item, ',')) {
        if (*item == ',') item++;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(item, names[i], strlen(names[i])) == 0) return true;
    }
    return false;
}

static bool has_tile(const tess_kernel_info *kernel) {
    return kernels_has_param(kernel, "TILE") ||
           (kernels_has_param(kernel, "BX") && kernels_has_param(kernel, "BY"));
}

/* The parameters of one variant; tile 0 sets none. NULL if there are none, or no memory. */
static char *join_params(const tess_kernel_info *kernel, const char *params, int64_t tile) {
    char text[64] = "", *joined = NULL;
    long long size = (long long)tile;
    if (tile > 0 && kernels_has_param(kernel, "TILE"))
        snprintf(text, sizeof text, "TILE=%lld", size);
    else if (tile > 0)
        snprintf(text, sizeof text, "BX=%lld,BY=%lld", size, size);
    if (params == NULL) return text[0] != '\0' ? strdup(text) : NULL;
    return asprintf(&joined, "%s%s%s", params, text[0] != '\0' ? "," : "", text) < 0 ? NULL : joined;
}

/* Without memory for parameters others would be measured than were asked for. */
static bool add_variant(bench_request *r, const tess_kernel_info *kernel, char *params, bool has_params) {
    if (has_params && params == NULL) say_error("out of memory");
    r->variants[r->variant_count++] = (bench_variant){kernel, params};
    return !has_params || params != NULL;
}

static bool add_variants(bench_request *r, const tess_kernel_info *kernel, const char *params,
                         const int64_t *tiles, size_t tile_count) {
    bool swept = has_tile(kernel) && tile_count > 0, good = true;
    for (size_t i = 0; good && i < (swept ? tile_count : 1); i++)
        good = add_variant(r, kernel, join_params(kernel, params, swept ? tiles[i] : 0),
                           params != NULL || swept);
    return good;
}

static bool make_room(bench_request *r, size_t of_each) {
    r->variants = calloc(r->kernels.count * of_each + 1, sizeof *r->variants);
    if (r->variants == NULL) say_error("out of memory");
    return r->variants != NULL;
}

static int make_sweep(bench_request *r, const char *text, const char *params) {
    bench_sweep sweep;
    if (!bench_sweep_read(text, &sweep)) return EXIT_USAGE;
    for (size_t i = 0; i < r->kernels.count; i++)
        if (!bench_sweep_fits(&sweep, &r->kernels.kernels[i])) return EXIT_USAGE;
    if (!make_room(r, sweep.combinations)) return EXIT_CHECK;
    for (size_t i = 0; i < r->kernels.count; i++)
        for (size_t j = 0; j < sweep.combinations; j++)
            if (!add_variant(r, &r->kernels.kernels[i], bench_sweep_params(&sweep, j, params), true))
                return EXIT_CHECK;
    r->sorted = true;
    return EXIT_FINE;
}

int bench_make_variants(bench_request *r, const args *a) {
    const char *params = args_text(a, "params", NULL), *text = args_text(a, "tile", NULL),
               *sweep = args_text(a, "sweep", NULL);
    int64_t tiles[TILES_MAX];
    size_t tile_count = 0;
    if (sweep != NULL && text != NULL)
        return say_usage("--tile and --sweep exclude each other; give --sweep all parameters");
    if (sweep != NULL) return make_sweep(r, sweep, params);
    if (text != NULL && !read_tiles(text, tiles, &tile_count)) return EXIT_USAGE;
    if (text != NULL && names_a_tile(params))
        return say_usage("--tile and a TILE, BX or BY in --params exclude each other; give one");
    if (!make_room(r, tile_count + 1)) return EXIT_CHECK;
    for (size_t i = 0; i < r->kernels.count; i++)
        if (!add_variants(r, &r->kernels.kernels[i], params, tiles, tile_count)) return EXIT_CHECK;
    return EXIT_FINE;
}
