/* output.c: writes results to stdout and to files.
 *
 * Invariant: a file named by the user is either untouched or complete: it is written under another name in
 * the same directory and renamed into place.
 */
#include "output.h"
#include "environment.h"
#include "say.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Devices and pipes are written directly: there is nothing to rename over. */
static bool is_special(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

static bool directory_of(const char *path, char *directory) {
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy) return false;
    snprintf(directory, PATH_MAX, "%s", dirname(copy));
    return true;
}

static bool could_write(const char *option, const char *path) {
    char directory[PATH_MAX];
    struct stat facts;
    if (path == NULL || strcmp(path, "-") == 0 || is_special(path)) return true;
    if (path[0] == '\0') {
        say_error("--%s needs the name of a file, or - for stdout", option);
    } else if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        say_error("--%s is '%s', which is a directory; name a file", option, path);
    } else if (!directory_of(path, directory) || access(directory, W_OK | X_OK) != 0) {
        say_error("--%s could not write '%s': %s", option, path, strerror(errno));
    } else {
        return true;
    }
    return false;
}

bool output_open(output *out, const args *a) {
    *out = (output){.csv = args_text(a, "csv", NULL),
                    .json = args_text(a, "json", NULL),
                    .markdown = args_given(a, "md")};
    bool csv_here = out->csv != NULL && strcmp(out->csv, "-") == 0;
    bool json_here = out->json != NULL && strcmp(out->json, "-") == 0;
    if (csv_here + json_here + out->markdown > 1) {
        say_error("only one of --csv -, --json - and --md can have stdout; give the others a file");
        return false;
    }
    out->people = !csv_here && !json_here && !out->markdown;
    return could_write("csv", out->csv) && could_write("json", out->json);
}

typedef struct document {
    table *t;
    const char *list; /* NULL: CSV */
    const tess_device_info *device;
    const char *data;
} document;

static void print_document(const document *d, FILE *stream) {
    if (d->list == NULL) {
        table_print_csv(d->t, stream);
        return;
    }
    fputs("{\n  \"context\": ", stream);
    environment_print_json(stream, d->device, d->data);
    fprintf(stream, ",\n  \"%s\": ", d->list);
    table_print_json(d->t, stream);
    fputs("\n}\n", stream);
}

/* mkstemp makes private files; the result gets the permissions any new file would. */
static void permit_as_usual(int fd) {
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
}

static bool write_aside(const document *d, const char *target) {
    char aside[PATH_MAX + 16];
    snprintf(aside, sizeof aside, "%s.XXXXXX", target);
    int fd = mkstemp(aside);
    if (fd < 0) return false;
    FILE *stream = fdopen(fd, "w");
    if (stream == NULL) {
        close(fd);
        unlink(aside);
        return false;
    }
    permit_as_usual(fd);
    print_document(d, stream);
    bool good = fflush(stream) == 0 && !ferror(stream);
    good = fclose(stream) == 0 && good;
    good = good && rename(aside, target) == 0;
    int why = errno;
    if (!good) unlink(aside);
    errno = why;
    return good;
}

static bool write_special(const document *d, const char *path) {
    FILE *stream = fopen(path, "we");
    if (stream == NULL) return false;
    print_document(d, stream);
    return fclose(stream) == 0;
}

static bool write_document(const document *d, const char *path) {
    char target[PATH_MAX];
    if (strcmp(path, "-") == 0) {
        print_document(d, stdout);
        return true;
    }
    /* A link is followed, so that it still points at the results afterwards. */
    if (realpath(path, target) == NULL) snprintf(target, sizeof target, "%s", path);
    if (is_special(target) ? write_special(d, target) : write_aside(d, target)) return true;
    say_error("could not write '%s': %s", path, strerror(errno));
    return false;
}

bool output_write(const output *out, table *t, const char *list, const tess_device_info *device,
                  const char *data) {
    bool good = true;
    say_progress_end();
    if (out->people) table_print(t, stdout);
    if (out->markdown) table_print_markdown(t, stdout);
    if (out->csv != NULL) good = write_document(&(document){.t = t}, out->csv) && good;
    if (out->json != NULL) good = write_document(&(document){t, list, device, data}, out->json) && good;
    return good;
}
