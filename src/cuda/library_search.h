/* library_search.h: the places where a library may lie. */
#ifndef LIBRARY_SEARCH_H
#define LIBRARY_SEARCH_H

/* Where a library comes from decides where it is looked for. */
typedef enum search_origin { SEARCH_DRIVER, SEARCH_TOOLKIT } search_origin;

/* What to do with a file: `path` is a path, or a bare name for the dynamic linker to find. Returns 1 to
 * end the search. */
typedef int search_visit(const char *path, void *context);

/* Visits every place where `file` may be. Returns 1 if a visit ended it. A place that holds nothing is
 * visited too, so that what was tried can be told; a pattern that matches nothing is visited as it is
 * written. */
int search_places(const char *file, search_origin origin, search_visit *visit, void *context);

/* $TESSERA_LIBRARY_PATH, or NULL if it is not set. */
const char *search_only_path(void);

#endif
