/* lines.h: what a traced module says of itself: which line an instruction belongs to, and what lies where in
 * shared memory. Read from the object's own debug information (DWARF 4, as modules are compiled) and symbols.
 */
#ifndef LINES_H
#define LINES_H

#include <stddef.h>
#include <stdint.h>

/* A run of instructions that belong to one line of the kernel's file; sorted by address. */
typedef struct lines_row {
    uint32_t address; /* from where the module is loaded */
    int line;
} lines_row;

/* A __shared__ variable. */
typedef struct lines_name {
    uint32_t offset, size; /* from the first of them */
    char name[32];
} lines_name;

typedef struct lines {
    lines_row *rows;
    int count;
    lines_name *names;
    int name_count;
} lines;

/* Reads what is there; a module without it has no lines and no names. `file` is the kernel's. Returns 0 if
 * there is no memory. */
int lines_read(const char *image, size_t size, const char *file, lines *out);
void lines_free(lines *l);

/* The line of the instruction before `address`, 0 if it is not known. An instruction that a function of
 * port.h brought belongs to the line of the kernel before it, which is the one that called the function. */
int lines_find(const lines *l, uint32_t address);
/* The variable at `offset` of shared memory; NULL if none is there. */
const lines_name *lines_find_name(const lines *l, uint32_t offset);

#endif
