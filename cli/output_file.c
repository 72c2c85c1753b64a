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

/* Devices and pipes are written directly: there is nothing to rename over. So is what lies behind a name of an open file, as
 * /dev/fd/3 is one. */
static bool is_special(const char *path) {
    struct stat facts;
    if (strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/dev/std", 8) == 0 ||
        strncmp(path, "/proc/", 6) == 0)
        return true;
    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

bool output_is_stdout(const char *path) {
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/fd/1") == 0 ||
           strcmp(path, "/proc/self/fd/1") == 0;
}

bool output_spares(const char *option, const char *path, const char *input) {
    struct stat out, in;
    if (path == NULL || input == NULL || is_special(path) || stat(path, &out) != 0 || stat(input, &in) != 0 ||
        out.st_dev != in.st_dev || out.st_ino != in.st_ino)
        return true;
    say_error("--%s is '%s', which is the input '%s'; name another file", option, path, input);
    return false;
}

/* A link that leads nowhere. */
static bool is_loose_link(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode) && stat(path, &facts) != 0;
}

static bool directory_of(const char *path, char *directory) {
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy) return false;
    snprintf(directory, PATH_MAX, "%s", dirname(copy));
    return true;
}

/* A file that may not be written is not replaced, though its directory would allow that. Behind a link, both are those of what it
 * leads to. */
static bool may_replace(const char *path) {
    char target[PATH_MAX], directory[PATH_MAX];
    bool exists = realpath(path, target) != NULL;
    if (exists && access(target, W_OK) != 0) return false;
    return directory_of(exists ? target : path, directory) && access(directory, W_OK | X_OK) == 0;
}

bool output_could_write(const char *option, const char *path) {
    struct stat facts;
    if (path == NULL || output_is_stdout(path) || is_special(path)) return true;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (path[0] == '\0') {
        say_error("--%s needs the name of a file, or - for stdout", option);
    } else if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        say_error("--%s is '%s', which is a directory; name a file", option, path);
    } else if (name[0] == '\0' || strlen(name) > NAME_MAX) {
        say_error("--%s could not write '%s': %s", option, path,
                  strerror(name[0] == '\0' ? ENOTDIR : ENAMETOOLONG));
    } else if (is_loose_link(path)) {
        say_error("--%s is '%s', a link to something that is not there; name a file", option, path);
    } else if (!may_replace(path)) {
        say_error("--%s could not write '%s': %s", option, path, strerror(errno));
    } else {
        return true;
    }
    return false;
}

/* mkstemp makes private files; the result gets the permissions of the file before, or those any new file would. */
static void permit_as_usual(int fd, const char *target) {
    struct stat before;
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(fd, stat(target, &before) == 0 ? before.st_mode & 07777 : 0666 & ~mask);
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
    char directory[PATH_MAX], aside[PATH_MAX + 32];
    if (!directory_of(target, directory)) return false;
    snprintf(aside, sizeof aside, "%s/.tessera-XXXXXX", directory); /* a name may be as long as any */
    int fd = mkstemp(aside);
    if (fd < 0) return false;
    FILE *stream = fdopen(fd, "w");
    if (stream == NULL) {
        close(fd);
        unlink(aside);
        return false;
    }
    permit_as_usual(fd, target);
    bool good = write_and_close(stream, print, data);
    good = good && rename(aside, target) == 0;
    int why = errno;
    if (!good) unlink(aside);
    errno = why;
    return good;
}

static bool write_special(const char *path, printer *print, const void *data) {
    FILE *stream = fopen(path, "ae"); /* what is behind it may have been begun by somebody else */
    if (stream == NULL) return false;
    return write_and_close(stream, print, data);
}

bool output_write_file(const char *path, printer *print, const void *data) {
    char target[PATH_MAX];
    if (output_is_stdout(path)) {
        print(data, stdout);
        return true;
    }
    /* A link is followed, so that it still points at the results afterwards. */
    if (is_special(path) || realpath(path, target) == NULL) snprintf(target, sizeof target, "%s", path);
    if (is_special(target) ? write_special(target, print, data) : write_aside(target, print, data))
        return true;
    say_error("could not write '%s': %s", path, strerror(errno));
    return false;
}
