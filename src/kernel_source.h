/* kernel_source.h: the files of kernels/, as text. They are embedded in the library; $TESSERA_KERNEL_DIR names a
 * directory to read them from instead, so that an edited kernel runs without a rebuild. */
#ifndef KERNEL_SOURCE_H
#define KERNEL_SOURCE_H

#include "status.h"

enum { KERNEL_SOURCE_PARAMS = 16 };

/* What a kernel's file says of itself. */
typedef struct kernel_source {
    char summary[160]; /* the rest of the first line, after the name */
    char params[2048]; /* one "NAME: meaning (default)" a line */
    char names[KERNEL_SOURCE_PARAMS][16];
    int64_t defaults[KERNEL_SOURCE_PARAMS];
    int param_count;
    char trouble[512]; /* why the file could not be read, "" if it could */
} kernel_source;

/* The text of "port.h" or "simt_05_shared.cu", or of the file at a path (a name with a '/'). The caller frees it with
 * memory_free. */
tess_status kernel_source_read(const char *file, char **text, sentence *why);

/* The same for a kernel that is to be compiled: where it says #include "tensor.h", or another file of kernels/, that text
 * stands, and #line directives keep the numbers of its lines. One line of that kind is seen in each file,
 * the first; such a file may have one itself. */
tess_status kernel_source_read_whole(const char *file, char **text, sentence *why);

/* Finds the first line's summary, and every parameter: an #ifndef NAME followed by
 * #define NAME number, with a comment that says what it is. */
tess_status kernel_source_parse(const char *file, const char *text, kernel_source *out, sentence *why);

/* One embedded file; the table ends with a NULL name. It is written by tools/embed.c when the library is built. */
typedef struct kernel_file {
    const char *name, *text;
} kernel_file;
extern const kernel_file kernel_files[];

#endif
