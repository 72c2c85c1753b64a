/* kernels.c: selects kernels of the registry by name, glob or number.
 *
 * Invariant: a pattern either adds to the list or is an error: nobody gets fewer kernels than they asked for
 * without being told.
 */
#include "kernels.h"
#include "nearest.h"
#include "say.h"
#include "sizes.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tess_kernel_info auto_kernel = {.name = KERNELS_AUTO,
                                             .device = "",
                                             .number = -1,
                                             .summary = "the planner's choice",
                                             .types = "",
                                             .params = "",
                                             .needs = ""};
static const tess_kernel_info peer_kernel = {.name = "peer",
                                             .device = "",
                                             .number = KERNELS_PEER,
                                             .summary = "whatever --peer says",
                                             .types = "",
                                             .params = "",
                                             .needs = ""};

static bool append(kernels_list *list, const tess_kernel_info *kernel) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->kernels[i].name, kernel->name) == 0) return true;
    tess_kernel_info *kernels = realloc(list->kernels, (list->count + 1) * sizeof *kernels);
    if (kernels == NULL) {
        say_error("out of memory");
        return false;
    }
    list->kernels = kernels;
    kernels[list->count++] = *kernel;
    return true;
}

static bool describe(int index, const char *family, tess_kernel_info *kernel) {
    if (tess_describe_kernel(index, kernel) != TESS_OK) return false;
    return family == NULL || strcmp(kernel->device, family) == 0;
}

bool kernels_is_peer(const tess_kernel_info *kernel) {
    return strcmp(kernel->name, peer_kernel.name) == 0;
}

/* Names on the command line are devices' names; kernels belong to a family of devices. */
const char *kernels_family(const char *device) {
    return strncmp(device, "cuda", 4) == 0 || strncmp(device, "sim", 3) == 0 ? "gpu" : device;
}

bool kernels_has_param(const tess_kernel_info *kernel, const char *name) {
    size_t length = strlen(name);
    for (const char *line = kernel->params; line != NULL && *line != '\0';) {
        if (strncmp(line, name, length) == 0 && line[length] == ':') return true;
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    return false;
}

/* The word of a name that people remember: "packed" of "cpu_03_packed". */
static const char *stem(const char *name) {
    const char *digits = strpbrk(name, "0123456789");
    const char *after = digits != NULL ? strchr(digits, '_') : NULL;
    return after != NULL ? after + 1 : name;
}

enum { NAMED_MOST = 4, NOT_NEAR = 1000 };

/* How far two words are apart; NOT_NEAR if more than a letter in four differs, which is no misspelling. */
static size_t distance_of(const char *word, const char *name) {
    size_t length = strlen(word), distance = nearest_distance(word, name);
    return length >= 3 && distance <= (length < 8 ? 1 : length / 4) ? distance : NOT_NEAR;
}

/* How far a name is from what somebody wrote: 0 if that is a part of it. The word people remember is a good hint, but a
 * worse one than all of the name. */
static size_t distance_to(const char *pattern, const char *name) {
    if (strlen(pattern) > 1 && strstr(name, pattern) != NULL) return 0;
    size_t whole = distance_of(pattern, name), word = distance_of(stem(pattern), stem(name)) + 2;
    return whole < word ? whole : word;
}

/* The kernels that are nearest to a pattern. */
typedef struct near_names {
    size_t distance, count;
    bool all_begin; /* with the pattern */
    char names[200];
} near_names;

static void note_near(near_names *near, const char *pattern, const char *name) {
    size_t distance = distance_to(pattern, name);
    if (distance >= NOT_NEAR || distance > near->distance) return;
    if (distance < near->distance) *near = (near_names){.distance = distance, .all_begin = true};
    size_t used = strlen(near->names);
    if (near->count++ < NAMED_MOST)
        snprintf(near->names + used, sizeof near->names - used, "%s%s", used > 0 ? ", " : "", name);
    near->all_begin = near->all_begin && strncmp(name, pattern, strlen(pattern)) == 0;
}

/* Says that nothing matches, and what somebody may have meant: the nearest names; a glob if there are many; the names that
 * begin as the pattern does, up to its first '_'. */
static void say_near(const char *asked, const char *family) {
    char pattern[64] = ""; /* as names are written; nothing longer is near one */
    for (size_t i = 0; i + 1 < sizeof pattern && asked[i] != '\0'; i++)
        pattern[i] = (char)tolower((unsigned char)asked[i]);
    near_names near = {.distance = NOT_NEAR};
    tess_kernel_info kernel;
    size_t length = strcspn(pattern, "_"), alike = 0;
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (!describe(i, family, &kernel)) continue;
        note_near(&near, pattern, kernel.name);
        alike += pattern[length] == '_' && strncmp(pattern, kernel.name, length + 1) == 0;
    }
    if (near.count > 0 && (near.count <= NAMED_MOST || near.distance > 0))
        say_error("no kernel matches '%s'; did you mean %s?", asked, near.names);
    else if (near.count > 0)
        say_error("no kernel matches '%s'; did you mean one of '%s%s*'?", asked, near.all_begin ? "" : "*",
                  pattern);
    else if (alike > 0)
        say_error("no kernel matches '%s'; did you mean one of '%.*s_*'?", asked, (int)length, pattern);
    else
        say_error("no kernel matches '%s'%s%s; 'tessera list' shows them", asked,
                  family != NULL ? " of the " : "", family != NULL ? family : "");
}

static const char *advice_for(const char *family) {
    return family != NULL && strcmp(family, "cpu") == 0
               ? "; a GPU's run on --device cuda, or simulated on --device sim"
               : "";
}

/* A name of another device's kernel is no misspelling. */
static void say_no_match(const char *pattern, const char *family) {
    tess_kernel_info kernel;
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (!describe(i, NULL, &kernel) || fnmatch(pattern, kernel.name, 0) != 0) continue;
        say_error("%s is a kernel of the %s, not of the %s%s", kernel.name, kernel.device, family,
                  advice_for(family));
        return;
    }
    say_near(pattern, family);
}

static bool add_pattern(kernels_list *list, const char *family, const char *pattern) {
    int64_t number = -1;
    bool by_number = sizes_parse_one(pattern, NULL, &number);
    if (strcmp(pattern, KERNELS_AUTO) == 0) return append(list, &auto_kernel);
    if (strcmp(pattern, peer_kernel.name) == 0 || (by_number && number == KERNELS_PEER))
        return append(list, &peer_kernel);
    bool found = false;
    tess_kernel_info kernel;
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (!describe(i, family, &kernel)) continue;
        bool match = by_number ? kernel.number == number : fnmatch(pattern, kernel.name, 0) == 0;
        if (!match) continue;
        found = true;
        if (!append(list, &kernel)) return false;
    }
    if (found) return true;
    if (by_number)
        say_error("there is no kernel number %s%s%s; 'tessera list' shows them%s", pattern,
                  family != NULL ? " of the " : "", family != NULL ? family : "", advice_for(family));
    else
        say_no_match(pattern, family);
    return false;
}

bool kernels_add(kernels_list *list, const char *family, const char *patterns) {
    list->chosen = true;
    char *copy = strdup(patterns);
    if (copy == NULL) {
        say_error("out of memory");
        return false;
    }
    bool good = true;
    char *rest = copy;
    for (char *pattern; good && (pattern = strsep(&rest, ",")) != NULL;)
        good = add_pattern(list, family, pattern);
    free(copy);
    return good;
}

bool kernels_is_tensor(const tess_kernel_info *kernel) {
    return kernel->number >= KERNELS_SECOND_LADDER && kernel->number < KERNELS_NO_LADDER;
}

bool kernels_is_simulated(const tess_kernel_info *kernel) {
    return strstr(kernel->needs, " alone") == NULL;
}

void kernels_keep_simulated(kernels_list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (kernels_is_simulated(&list->kernels[i])) list->kernels[kept++] = list->kernels[i];
    list->count = kept;
}

bool kernels_is_counted(const tess_kernel_info *kernel) {
    return kernels_is_simulated(kernel) && strncmp(kernel->name, "split_", 6) != 0;
}

static bool add_from(kernels_list *list, const char *family, int least_number, bool tensor) {
    tess_kernel_info kernel;
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (!describe(i, family, &kernel) || kernel.number < least_number) continue;
        if ((tensor || !kernels_is_tensor(&kernel)) && !append(list, &kernel)) return false;
    }
    return true;
}

bool kernels_add_all(kernels_list *list, const char *family) {
    return add_from(list, family, KERNELS_PEER, true);
}

bool kernels_add_ours(kernels_list *list, const char *family) {
    return add_from(list, family, KERNELS_PEER + 1, true);
}

bool kernels_add_ladder(kernels_list *list, const char *family) {
    return add_from(list, family, KERNELS_PEER + 1, false);
}

bool kernels_add_auto(kernels_list *list) {
    return append(list, &auto_kernel);
}

void kernels_free(kernels_list *list) {
    free(list->kernels);
    *list = (kernels_list){0};
}
