/* npy.c: throws bytes at the reader of .npy headers.
 *
 * With -DLIBFUZZER it is a target for clang's libFuzzer, which `make fuzz` runs; without, a program of its own
 * that changes good files at random for a number of seconds, for compilers that have no fuzzer:
 *     npy [SECONDS [SEED]]
 *     npy --seeds DIRECTORY      writes the good files, to start libFuzzer from
 *
 * Promise: whatever the bytes, npy_parse reads nothing outside them; a file it takes is exactly as long as its
 * shape says and is taken again when its header is written anew; a file it refuses gets a printable sentence.
 */
#include <npy.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void insist(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void check_sentence(const char *why, size_t room) {
    insist(memchr(why, '\0', room) != NULL, "the sentence ends");
    insist(why[0] != '\0', "a refusal has a sentence");
    for (; *why != '\0'; why++) insist(*why >= 32 && *why < 127, "the sentence is printable");
}

static void check_header(const npy_header *h, size_t size) {
    uint64_t bytes = h->item_size;
    insist(h->dims >= 0 && h->dims <= NPY_MOST_DIMS, "the number of sizes is in range");
    insist(h->data_offset <= size && h->data_size == size - h->data_offset,
           "the data is the rest of the file");
    for (int i = 0; i < h->dims; i++) {
        insist(h->shape[i] >= 0, "no size is negative");
        if (h->shape[i] == 0) bytes = 0;
    }
    for (int i = 0; i < h->dims && bytes != 0; i++) bytes *= (uint64_t)h->shape[i];
    insist(bytes == h->data_size, "the shape and the data agree");
}

/* The same header, written by us and read again. The data is not there, so the file must be empty. */
static void check_round_trip(const npy_header *h) {
    char text[NPY_HEADER_ROOM], why[256];
    npy_header again, empty = *h;
    if (h->dims < 1 || h->dims > NPY_MOST_WRITTEN_DIMS) return;
    empty.shape[0] = 0;
    size_t size = npy_format(&empty, text);
    insist(size % 64 == 0 && size <= sizeof text, "a header that is written is a multiple of 64 bytes");
    insist(npy_parse((unsigned char *)text, size, &again, why, sizeof why), "what is written can be read");
    insist(again.type == h->type && again.fortran == h->fortran && again.dims == h->dims, "and is the same");
    for (int i = 1; i < h->dims; i++) insist(again.shape[i] == h->shape[i], "and has the same shape");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    /* A copy of exactly this size, so that a byte too far is an error the sanitizer sees. */
    unsigned char *copy = malloc(size > 0 ? size : 1);
    char why[200] = "";
    npy_header h;
    if (copy == NULL) return 0;
    if (size > 0) memcpy(copy, bytes, size);
    if (npy_parse(copy, size, &h, why, sizeof why)) {
        check_header(&h, size);
        check_round_trip(&h);
    } else {
        check_sentence(why, sizeof why);
    }
    free(copy);
    return 0;
}

#ifndef LIBFUZZER

enum { MOST_BYTES = 1024 };

/* Headers of good files, and of some that are nearly good. The data is as many zeros as `data` says. */
static const struct {
    int version;
    size_t data;
    const char *text;
} seeds[] = {
    {1, 48, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }     \n"},
    {1, 96, "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }\n"},
    {2, 12, "{'descr': '|i1', 'fortran_order': False, 'shape': (3, 4), }\n"},
    {3, 24, "{'descr': '=f2', 'fortran_order': False, 'shape': (1, 3, 4), }\n"},
    {1, 20, "{\"shape\": (5,), \"descr\": \"i4\", \"fortran_order\": True}"},
    {2, 2, "{'descr':'<u2','fortran_order':False,'shape':()}"},
    {1, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }\n"},
    {1, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904L, 2L), }\n"},
    {1, 0, "{'descr': [('x', '<f4'), ('y', '<i2', (2,))], 'fortran_order': False, 'shape': (3,), }\n"},
    {1, 0, "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (3,), }\n"},
    {3, 0, "{'descr': '|V2', 'fortran_order': False, 'shape': ((((((3,),),),),),), }\n"},
};
enum { SEED_COUNT = sizeof seeds / sizeof *seeds };

static size_t make_seed(size_t which, unsigned char bytes[MOST_BYTES]) {
    size_t length = strlen(seeds[which].text), begin = seeds[which].version == 1 ? 10 : 12;
    memset(bytes, 0, MOST_BYTES);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)seeds[which].version;
    bytes[8] = (unsigned char)length;
    memcpy(bytes + begin, seeds[which].text, length);
    return begin + length + seeds[which].data;
}

static int write_seeds(const char *directory) {
    unsigned char bytes[MOST_BYTES];
    for (size_t i = 0; i < SEED_COUNT; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%02zu.npy", directory, i);
        size_t size = make_seed(i, bytes);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

static uint64_t draw(uint64_t *state, uint64_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

/* One change: a byte, a cut, a byte taken out or put in, or a piece copied elsewhere. */
static size_t mutate(unsigned char *bytes, size_t size, uint64_t *state) {
    static const char likely[] = "(){}[]',:\"\\0123456789-<>=|fiuTFL \n";
    size_t at = size > 0 ? (size_t)draw(state, size) : 0;
    unsigned char byte = (unsigned char)(draw(state, 4) == 0 ? draw(state, 256)
                                                             : (uint64_t)likely[draw(state, sizeof likely)]);
    switch (draw(state, 5)) {
    case 0: return at;
    case 1:
        if (size == 0) return 0;
        memmove(bytes + at, bytes + at + 1, size - at - 1);
        return size - 1;
    case 2:
        if (size == MOST_BYTES) return size;
        memmove(bytes + at + 1, bytes + at, size - at);
        bytes[at] = byte;
        return size + 1;
    case 3: {
        if (size == 0) return 0;
        size_t from = (size_t)draw(state, size), most = size - (at > from ? at : from);
        memmove(bytes + at, bytes + from, (size_t)draw(state, most + 1));
        return size;
    }
    default:
        if (size > 0) bytes[at] = byte;
        return size;
    }
}

/* Puts the length of the header right again, most of the time, so that changes reach the parser. */
static void mend_length(unsigned char *bytes, size_t size) {
    const unsigned char *end = size > 12 ? memchr(bytes + 12, '}', size - 12) : NULL;
    if (end == NULL) return;
    size_t length = (size_t)(end + 1 - bytes) - (bytes[6] == 1 ? 10 : 12);
    bytes[8] = (unsigned char)(length & 255);
    bytes[9] = (unsigned char)(length >> 8);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, state = seed * 2654435769U + 1;
    unsigned long runs = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    for (; runs % 4096 != 0 || time(NULL) < end; runs++) {
        unsigned char bytes[MOST_BYTES];
        size_t size = make_seed((size_t)draw(&state, SEED_COUNT), bytes);
        for (uint64_t changes = draw(&state, 5); changes > 0; changes--) size = mutate(bytes, size, &state);
        if (draw(&state, 4) != 0) mend_length(bytes, size);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    printf("%lu files\n", runs);
    return 0;
}

#endif
