/* cache_directory.h: the directory that the cache of compiled code lies in, and what may be trusted in it. */
#ifndef CACHE_DIRECTORY_H
#define CACHE_DIRECTORY_H

#include <sys/stat.h>

#include "status.h"

/* Longest name of an entry, with its zero byte. */
enum { CACHE_NAME_SIZE = 160 };

/* Opens the directory; with `create`, makes it and those above it (0700) where they are missing. Returns a
 * handle for openat, or -1: *problem is then why, "" if there is just no directory yet. `path` is filled
 * in any case. */
int cache_directory_open(int create, char path[1024], char problem[256]);

/* Whether somebody else could have written a file or directory with these facts: then it is not used. The
 * reason is a sentence without its subject; NULL if it is trusted. */
const char *cache_distrust(const struct stat *facts);

/* What a file of the directory is, by its name. Others' files are neither counted nor removed. */
typedef enum cache_file { CACHE_OTHER, CACHE_ENTRY, CACHE_TEMPORARY } cache_file;
cache_file cache_file_kind(const char *name);

/* Calls `visit` with every entry and temporary file, and its facts (those of a link itself, not of its
 * target). */
typedef void cache_visit(int directory, const char *name, cache_file kind, const struct stat *facts,
                         void *context);
void cache_directory_walk(int directory, cache_visit *visit, void *context);

#endif
