/* scratch.c: directories for tests. */
#include "scratch.h"

#include "harness.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void scratch_enter(scratch *s, const char *variable) {
    const char *parent = getenv("TMPDIR"), *before = getenv(variable);
    snprintf(s->path, sizeof s->path, "%.32s/tessera-test-XXXXXX", parent && parent[0] ? parent : "/tmp");
    CHECK(mkdtemp(s->path) != NULL, "%s could not be made", s->path);
    s->variable = variable;
    s->before = before ? strdup(before) : NULL;
    setenv(variable, s->path, 1);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

void scratch_leave(scratch *s) {
    chmod(s->path, 0700);
    CHECK(nftw(s->path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, "%s could not be removed", s->path);
    if (s->before)
        setenv(s->variable, s->before, 1);
    else
        unsetenv(s->variable);
    free(s->before);
}

void scratch_write(const scratch *s, const char *name, const void *data, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", s->path, name);
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL, "%s could not be opened", path)) return;
    CHECK(fwrite(data, 1, size, file) == size, "%s could not be written", path);
    fclose(file);
}
