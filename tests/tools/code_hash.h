/* code_hash.h: a kernel's code as a number, comments and blanks aside, so that results of a card can say
 * which code they are of. Run where kernels/ is. */
#ifndef CODE_HASH_H
#define CODE_HASH_H

#include <stdint.h>
#include <stdio.h>

static const uint64_t HASH_START = UINT64_C(0xcbf29ce484222325);

static inline uint64_t hash_byte(uint64_t h, unsigned char byte) {
    return (h ^ byte) * UINT64_C(0x100000001b3);
}

/* 0 if the file cannot be read. */
static inline uint64_t hash_code(const char *kernel) {
    char path[200];
    uint64_t h = HASH_START;
    snprintf(path, sizeof path, "kernels/%s.cu", kernel);
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

#endif
