/* cache_directory.c: finding, making, trusting, counting and clearing the cache's directory.
 *
 * Invariant: only files whose names have the form of the cache's own are ever removed, and of those only
 * regular files of this user. */
#include "cache_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HASH_DIGITS = 32 };

/* ---- Where it is ---- */

/* Returns 0 if the environment names no place. */
static int print_path(char path[1024]) {
    const char *own = getenv("TESSERA_CACHE_DIR"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (own && own[0])
        length = snprintf(path, 1024, "%s", own);
    else if (caches && caches[0] == '/')
        length = snprintf(path, 1024, "%s/tessera", caches);
    else if (home && home[0])
        length = snprintf(path, 1024, "%s/.cache/tessera", home);
    else
        length = 1024;
    if (length < 1024) return 1;
    path[0] = '\0';
    return 0;
}

/* Makes every directory of the path that is not there. Failures show when the path is opened. */
static void make_directories(const char *path) {
    char part[1024];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        mkdir(part, 0700);
        *at = '/';
    }
    mkdir(part, 0700);
}

const char *cache_distrust(const struct stat *facts) {
    if (facts->st_uid != geteuid()) return "belongs to another user";
    if (facts->st_mode & (S_IWGRP | S_IWOTH)) return "can be written by others than its owner";
    return NULL;
}

int cache_directory_open(int create, char path[1024], char problem[256]) {
    struct stat facts;
    problem[0] = '\0';
    if (!print_path(path)) {
        snprintf(problem, 256, "none of TESSERA_CACHE_DIR, XDG_CACHE_HOME and HOME names a directory");
        return -1;
    }
    int handle = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0 && errno == ENOENT && create) {
        make_directories(path);
        handle = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (handle < 0) {
        if (create || errno != ENOENT)
            snprintf(problem, 256, "it cannot be opened or made: %s", strerror(errno));
        return -1;
    }
    const char *distrust =
        fstat(handle, &facts) == 0 ? cache_distrust(&facts) : "cannot be asked for its owner";
    if (!distrust) return handle;
    snprintf(problem, 256, "it %s, so that nothing in it can be trusted", distrust);
    close(handle);
    return -1;
}

/* ---- What lies in it ---- */

static size_t word_length(const char *at) {
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_') length++;
    return length;
}

/* An entry is stem-HASH.extension; a temporary file has .PID-COUNT.tmp behind that. */
cache_file cache_file_kind(const char *name) {
    size_t stem = word_length(name);
    if (stem == 0 || name[stem] != '-') return CACHE_OTHER;
    const char *hash = name + stem + 1;
    if (strspn(hash, "0123456789abcdef") != HASH_DIGITS || hash[HASH_DIGITS] != '.') return CACHE_OTHER;
    const char *extension = hash + HASH_DIGITS + 1, *rest = extension + word_length(extension);
    if (rest == extension) return CACHE_OTHER;
    if (*rest == '\0') return CACHE_ENTRY;
    if (*rest != '.') return CACHE_OTHER;
    rest += 1 + strspn(rest + 1, "0123456789-");
    return strcmp(rest, ".tmp") == 0 ? CACHE_TEMPORARY : CACHE_OTHER;
}

void cache_directory_walk(int directory, cache_visit *visit, void *context) {
    int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it */
    DIR *list = own < 0 ? NULL : fdopendir(own);
    if (!list && own >= 0) close(own);
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
        struct stat facts;
        cache_file kind = cache_file_kind(entry->d_name);
        if (kind == CACHE_OTHER || fstatat(directory, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        visit(directory, entry->d_name, kind, &facts, context);
    }
    if (list) closedir(list);
}

/* ---- Telling and clearing ---- */

static void count_file(int directory, const char *name, cache_file kind, const struct stat *facts,
                       void *context) {
    tess_cache_info *info = context;
    (void)directory;
    if (kind != CACHE_ENTRY) return;
    const char *distrust = S_ISREG(facts->st_mode) ? cache_distrust(facts) : "is no regular file";
    if (distrust) {
        snprintf(info->problem, sizeof info->problem, "%.120s in it %s: it is neither used nor replaced",
                 name, distrust);
        return;
    }
    info->entries++;
    info->bytes += facts->st_size;
}

tess_status tess_describe_cache(tess_cache_info *info) {
    if (!info)
        return status_fail(status_of_thread(), TESS_ERROR_ARGUMENT, "tess_describe_cache: info is NULL");
    memset(info, 0, sizeof *info);
    int directory = cache_directory_open(1, info->directory, info->problem);
    if (directory < 0) return TESS_OK;
    if (faccessat(directory, ".", W_OK, AT_EACCESS) != 0)
        snprintf(info->problem, sizeof info->problem, "nothing new is kept in it: %s", strerror(errno));
    cache_directory_walk(directory, count_file, info);
    close(directory);
    return TESS_OK;
}

typedef struct clearing {
    int64_t removed;
    int error;
} clearing;

static void remove_file(int directory, const char *name, cache_file kind, const struct stat *facts,
                        void *context) {
    clearing *c = context;
    if (!S_ISREG(facts->st_mode) || facts->st_uid != geteuid()) return;
    if (unlinkat(directory, name, 0) == 0)
        c->removed += kind == CACHE_ENTRY;
    else if (errno != ENOENT)
        c->error = errno;
}

tess_status tess_clear_cache(int64_t *removed) {
    sentence *why = status_of_thread();
    char path[1024], problem[256];
    clearing c = {0, 0};
    if (removed) *removed = 0;
    int directory = cache_directory_open(0, path, problem);
    if (directory < 0 && !problem[0]) return TESS_OK;
    if (directory < 0)
        return status_fail(why, TESS_ERROR_ARGUMENT, "the cache '%s' was not cleared: %s", path, problem);
    cache_directory_walk(directory, remove_file, &c);
    close(directory);
    if (removed) *removed = c.removed;
    if (c.error)
        return status_fail(why, TESS_ERROR_ARGUMENT, "the cache '%s' could not be cleared: %s", path,
                           strerror(c.error));
    return TESS_OK;
}
