/* blocks.h: the memory that tess_alloc gave, and which bytes of it have been written: by tess_copy or by a
 * kernel. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stddef.h>
#include <stdint.h>

typedef struct memory_block {
    struct memory_block *next;
    char *data;
    size_t size;
    uint8_t *written; /* one a byte */
} memory_block;

typedef struct block_list {
    memory_block *first;
} block_list;

/* Remembers a block, of which nothing is written yet. Returns 0 if there is no memory for that. */
int blocks_add(block_list *list, void *data, size_t size);
void blocks_remove(block_list *list, const void *data);
void blocks_close(block_list *list);

/* Whether all of the bytes are written; memory that is not in the list counts as written. */
int blocks_written(const block_list *list, const void *at, size_t bytes);
void blocks_note(block_list *list, const void *at, size_t bytes);

#endif
