/* npy.h: the header of a NumPy .npy file, read from memory and written. Files are none of its business. */
#ifndef NPY_H
#define NPY_H

#include "tessera.h"

#include <stdbool.h>

/* NumPy's own limit on dimensions, and room for any header npy_format writes. */
enum { NPY_MOST_DIMS = 32, NPY_MOST_WRITTEN_DIMS = 3, NPY_HEADER_ROOM = 192 };

/* What a header says. The data lies at bytes + data_offset and is data_size bytes long. */
typedef struct npy_header {
    tess_type type; /* TESS_BF16 for two bytes that NumPy has no number for: u2 and V2 */
    size_t item_size;
    bool swapped; /* the bytes of an element lie the other way round than on this machine */
    bool fortran; /* the first index runs fastest; else the last */
    int dims;
    int64_t shape[NPY_MOST_DIMS];
    size_t data_offset, data_size;
} npy_header;

/* Reads the header of a whole file of `size` bytes and makes sure that the data is there, all of it and
 * nothing else. On failure `why` says, without a full stop, what is wrong with "it", the file. Nothing in the
 * file is ever evaluated: the header is text of one form, and any other text is refused. */
bool npy_parse(const unsigned char *bytes, size_t size, npy_header *out, char *why, size_t why_size);

/* Writes magic and header, version 1.0, for data of this machine's byte order: type, fortran, dims and shape
 * are read. Returns the length, a multiple of 64. */
size_t npy_format(const npy_header *h, char text[NPY_HEADER_ROOM]);

#endif
