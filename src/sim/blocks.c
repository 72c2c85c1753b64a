/* blocks.c: a list is enough: a program allocates few matrices. */
#include "blocks.h"

#include <string.h>

#include "../memory.h"

int blocks_add(block_list *list, void *data, size_t size) {
    memory_block *made = memory_alloc_zeroed(sizeof *made);
    uint8_t *written = memory_alloc_zeroed(size);
    if (!made || !written) {
        memory_free(made);
        memory_free(written);
        return 0;
    }
    *made = (memory_block){list->first, data, size, written};
    list->first = made;
    return 1;
}

static void free_block(memory_block *block) {
    memory_free(block->written);
    memory_free(block);
}

void blocks_remove(block_list *list, const void *data) {
    for (memory_block **link = &list->first; *link; link = &(*link)->next)
        if ((*link)->data == data) {
            memory_block *gone = *link;
            *link = gone->next;
            free_block(gone);
            return;
        }
}

void blocks_close(block_list *list) {
    while (list->first) blocks_remove(list, list->first->data);
}

/* The block that has the byte; NULL if none does. */
static memory_block *find(const block_list *list, const void *at) {
    for (memory_block *block = list->first; block; block = block->next)
        if ((uintptr_t)at - (uintptr_t)block->data < block->size) return block;
    return NULL;
}

int blocks_written(const block_list *list, const void *at, size_t bytes) {
    const memory_block *block = find(list, at);
    if (!block) return 1;
    size_t offset = (size_t)((const char *)at - block->data);
    if (bytes > block->size - offset) bytes = block->size - offset;
    return memchr(block->written + offset, 0, bytes) == NULL;
}

void blocks_note(block_list *list, const void *at, size_t bytes) {
    memory_block *block = find(list, at);
    if (!block) return;
    size_t offset = (size_t)((const char *)at - block->data);
    if (bytes > block->size - offset) bytes = block->size - offset;
    memset(block->written + offset, 1, bytes);
}
