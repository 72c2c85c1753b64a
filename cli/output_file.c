/* output_file.c: writes a file aside and renames it into place.
 *
 * Invariant: a file named by the user is either untouched or complete.
 */
#include "output_file.h"
#include "say.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void printer(const void *data, FILE *stream);

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

bool output_could_write(const char *option, const char *path) {
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

/* mkstemp makes private files; the result gets the permissions any new file would. */
static void permit_as_usual(int fd) {
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
}

/* An error of an earlier write is not one of the last. */
static bool write_and_close(FILE *stream, printer *print, const void *data) {
    errno = 0;
    print(data, stream);
    bool good = fflush(stream) == 0 && !ferror(stream);
    int why = errno != 0 ? errno : EIO;
    good = fclose(stream) == 0 && good;
    if (!good) errno = why;
    return good;
}

static bool write_aside(const char *target, printer *print, const void *data) {
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
    bool good = write_and_close(stream, print, data);
    good = good && rename(aside, target) == 0;
    int why = errno;
    if (!good) unlink(aside);
    errno = why;
    return good;
}

static bool write_special(const char *path, printer *print, const void *data) {
    FILE *stream = fopen(path, "we");
    if (stream == NULL) return false;
    return write_and_close(stream, print, data);
}

bool output_write_file(const char *path, printer *print, const void *data) {
    char target[PATH_MAX];
    if (strcmp(path, "-") == 0) {
        print(data, stdout);
        return true;
    }
    /* A link is followed, so that it still points at the results afterwards. */
    if (realpath(path, target) == NULL) snprintf(target, sizeof target, "%s", path);
    if (is_special(target) ? write_special(target, print, data) : write_aside(target, print, data))
        return true;
    say_error("could not write '%s': %s", path, strerror(errno));
    return false;
}
