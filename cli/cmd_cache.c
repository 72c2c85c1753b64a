/* cmd_cache.c: `tessera cache`: the compiled kernels that are kept on disk, and `tessera cache clear`.
 *
 * Invariant: a cache that cannot be used is reported, but is no failure: kernels are then compiled by each
 * process. */
#include "commands.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const args_spec cache_spec =
    {"cache",
     "[clear]",
     1,
     "The compiled kernels kept on disk; 'cache clear' removes them",
     "They lie in $TESSERA_CACHE_DIR, else in $XDG_CACHE_HOME/tessera, else in ~/.cache/tessera.\n"
     "Only entries of the cache are removed, nothing else in that directory.\n",
     NULL,
     0};

static int show(void) {
    tess_cache_info info;
    if (tess_describe_cache(&info) != TESS_OK) {
        say_error("%s", tess_error(NULL));
        return EXIT_CHECK;
    }
    printf("directory  %s\n", info.directory[0] != '\0' ? info.directory : "none");
    printf("entries    %" PRId64 "\n", info.entries);
    printf("size       %.1f KiB\n", (double)info.bytes / 1024);
    if (info.problem[0] != '\0') printf("problem    %s\n", info.problem);
    return EXIT_FINE;
}

static int clear(void) {
    int64_t removed;
    if (tess_clear_cache(&removed) != TESS_OK) {
        say_error("%s", tess_error(NULL));
        return EXIT_CHECK;
    }
    printf("removed %" PRId64 " entr%s\n", removed, removed == 1 ? "y" : "ies");
    return EXIT_FINE;
}

int cache_run(const args *a) {
    if (a->word_count == 0) return show();
    if (strcmp(a->words[0], "clear") == 0) return clear();
    return say_usage("'%s' is nothing that can be done with the cache; write tessera cache, or tessera cache "
                     "clear",
                     a->words[0]);
}
