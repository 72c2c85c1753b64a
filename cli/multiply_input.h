/* multiply_input.h: a .npy file as an operand: mapped, not copied, unless its bytes cannot be used as they lie. */
#ifndef MULTIPLY_INPUT_H
#define MULTIPLY_INPUT_H

#include "npy.h"

#include <sys/types.h>

/* Zero-initialise, so that closing one that was never opened is fine. */
typedef struct multiply_input {
    const char *path; /* as the user wrote it */
    npy_header header;
    void *data; /* elements in this machine's byte order; NULL before multiply_input_load */
    void *map, *copy;
    size_t map_size, copy_size;
    dev_t device; /* which file it is, whatever it is called */
    ino_t inode;
} multiply_input;

/* Maps the file and reads its header. On failure says a sentence that names the file. */
bool multiply_input_open(multiply_input *in, const char *path);

/* Makes `data` usable: in place where byte order and alignment allow it, else converted into memory. Returns
 * false after a sentence, or without one if an interrupt came. */
bool multiply_input_load(multiply_input *in);

void multiply_input_close(multiply_input *in);

#endif
