/* sizes.h: the shapes of products, as written on a command line or in a file. */
#ifndef SIZES_H
#define SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest size taken: larger than any memory, small enough that a product of two cannot overflow. */
#define SIZES_LARGEST INT64_C(1000000000)

enum { SIZES_BATCH_LARGEST = 1000000 };

typedef struct sizes_shape {
    int64_t m, n, k;
} sizes_shape;

typedef struct sizes_list {
    sizes_shape *shapes;
    int64_t *batches; /* beside each shape: how many of it make a batch; 0: that was not said */
    size_t count, room;
} sizes_list;

/* Each appends to the list, and on failure says a sentence and returns false.
 * Square sizes: "1024", "64,100,1000", "128:4096:x2" (times 2), "1000:3000:500" (plus 500, ends included). */
bool sizes_add_squares(sizes_list *list, const char *text);
/* Shapes m x n x k: "4097x4099x4101", several with commas; "64x64x64x1000" is a batch of 1000. */
bool sizes_add_shapes(sizes_list *list, const char *text);
/* One shape or size a line; '#' begins a comment. A name that is no file here is looked for among the
 * files that come with the command: "llm". */
bool sizes_add_file(sizes_list *list, const char *path);
bool sizes_add(sizes_list *list, sizes_shape shape);
void sizes_free(sizes_list *list);

/* One non-negative size, up to `end` or the end of the text. */
bool sizes_parse_one(const char *text, const char *end, int64_t *value);
/* Whether a shape says how many of it make a batch. */
bool sizes_any_batch(const sizes_list *list);
bool sizes_all_square(const sizes_list *list);

#endif
