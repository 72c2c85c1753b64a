/* code_hash.h: a kernel's code as a number, comments and blanks aside, so that results of a card can say
 * which code they are of. Run where kernels/ is. */
#ifndef CODE_HASH_H
#define CODE_HASH_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint64_t HASH_START = UINT64_C(0xcbf29ce484222325);

static inline uint64_t hash_byte(uint64_t h, unsigned char byte) {
    return (h ^ byte) * UINT64_C(0x100000001b3);
}

/* Goes on with a file of kernels/; 0 if it cannot be read. */
static inline uint64_t hash_file(uint64_t h, const char *name) {
    char path[200];
    snprintf(path, sizeof path, "kernels/%s", name);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    for (int c = fgetc(file), next, comment = 0; c != EOF; c = next) {
        next = fgetc(file);
        if (!comment && c == '/' && next == '*') {
            comment = 1;
            next = fgetc(file);
        } else if (comment) {
            if (c == '*' && next == '/') comment = 0, next = fgetc(file);
        } else if (c > ' ') {
            h = hash_byte(h, (unsigned char)c);
        }
    }
    fclose(file);
    return h;
}

/* Kernels for tensor cores are made of their file and tensor.h, that of f64 also of doubles.h and raster.h. */
static inline uint64_t hash_code(const char *kernel) {
    char name[120];
    snprintf(name, sizeof name, "%s.cu", kernel);
    uint64_t h = hash_file(HASH_START, name);
    if (h && strncmp(kernel, "mma_", 4) == 0) h = hash_file(h, "tensor.h");
    if (h && strcmp(kernel, "mma_08_f64") == 0) h = hash_file(hash_file(h, "doubles.h"), "raster.h");
    return h;
}

#endif
