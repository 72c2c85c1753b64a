/* npy_make.c: writes .npy files for tests/multiply.sh, so that neither NumPy nor the code under test is needed.
 *
 *     npy_make FILE DESCR ORDER VERSION SHAPE FILL [ALPHA BETA]
 *     npy_make c.npy '<f4' C 1 7x5 ab:13 2 -1
 *
 * SHAPE is up to three sizes; one that ends in ! counts for the values but is left out of the header, so that
 * 1!x5 is the row (5,). FILL says which values: a, b, c, or ab:K for alpha*a*b + beta*c. All are small
 * integers, exact in every type, that depend on the indices only. The bytes are those np.save writes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct array {
    const char *descr;
    int fortran, version;
    int dims;          /* in the header */
    int64_t header[3]; /* its sizes */
    int64_t size[3];   /* matrices, rows, columns */
} array;

/* What an element is made of. */
typedef struct fill {
    char name; /* a, b, c, or p for the product */
    int64_t k;
    int alpha, beta;
} fill;

static int value_a(int64_t p, int64_t i, int64_t j) {
    return (int)((3 * p + 7 * i + 3 * j) % 5) - 2;
}
static int value_b(int64_t p, int64_t i, int64_t j) {
    return (int)((p + 2 * i + 11 * j + i * j) % 5) - 2;
}
static int value_c(int64_t p, int64_t i, int64_t j) {
    return (int)((p + 5 * i + 2 * j) % 7) - 3;
}

static int value(const fill *f, int64_t p, int64_t i, int64_t j) {
    if (f->name == 'a') return value_a(p, i, j);
    if (f->name == 'b') return value_b(p, i, j);
    if (f->name == 'c') return value_c(p, i, j);
    int sum = 0;
    for (int64_t l = 0; l < f->k; l++) sum += value_a(p, i, l) * value_b(p, l, j);
    return f->alpha * sum + (f->beta != 0 ? f->beta * value_c(p, i, j) : 0);
}

/* binary16 of an integer up to 2048. */
static uint16_t half_of(int number) {
    unsigned magnitude = (unsigned)abs(number), exponent = 0;
    if (number == 0) return 0;
    while (magnitude >> exponent > 1) exponent++;
    unsigned fraction = (magnitude << 10 >> exponent) & 1023;
    return (uint16_t)((number < 0 ? 0x8000U : 0U) | (exponent + 15) << 10 | fraction);
}

/* The bytes of an element, most significant last; returns how many. */
static size_t encode(const char *code, int number, unsigned char bytes[8]) {
    uint64_t bits = (uint64_t)(int64_t)number;
    size_t size = code[1] == '1' ? 1 : code[1] == '2' ? 2 : code[1] == '4' ? 4 : 8;
    float single = (float)number;
    uint32_t single_bits;
    memcpy(&single_bits, &single, 4);
    if (strcmp(code, "f4") == 0) bits = single_bits;
    if (strcmp(code, "f2") == 0) bits = half_of(number);
    if (strcmp(code, "u2") == 0 || strcmp(code, "V2") == 0) bits = single_bits >> 16;
    if (strcmp(code, "f8") == 0) {
        double wide = number;
        memcpy(&bits, &wide, 8);
    }
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(bits >> 8 * i);
    return size;
}

static void write_value(const array *x, int number, FILE *file) {
    unsigned char little[8], big[8];
    size_t size = encode(x->descr + 1, number, little);
    for (size_t i = 0; i < size; i++) big[i] = little[size - 1 - i];
    fwrite(x->descr[0] == '>' ? big : little, 1, size, file);
}

static void write_header(const array *x, FILE *file) {
    char text[256], shape[96] = "";
    size_t used = 0, preamble = x->version == 1 ? 10 : 12;
    for (int i = 0; i < x->dims; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64 "%s", i > 0 ? ", " : "",
                                 x->header[i], x->dims == 1 ? "," : "");
    size_t length =
        (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", x->descr,
                         x->fortran ? "True" : "False", shape);
    size_t padded = (preamble + length + 1 + 63) / 64 * 64 - preamble;
    fwrite("\x93NUMPY", 1, 6, file);
    fputc(x->version, file);
    fputc(0, file);
    for (size_t i = 0; i < preamble - 8; i++) fputc((int)(padded >> 8 * i & 255), file);
    fprintf(file, "%s%*s\n", text, (int)(padded - length - 1), "");
}

static void write_data(const array *x, const fill *f, FILE *file) {
    const int64_t *s = x->size;
    if (x->fortran) {
        for (int64_t j = 0; j < s[2]; j++)
            for (int64_t i = 0; i < s[1]; i++)
                for (int64_t p = 0; p < s[0]; p++) write_value(x, value(f, p, i, j), file);
        return;
    }
    for (int64_t p = 0; p < s[0]; p++)
        for (int64_t i = 0; i < s[1]; i++)
            for (int64_t j = 0; j < s[2]; j++) write_value(x, value(f, p, i, j), file);
}

static void read_shape(array *x, char *text) {
    int64_t sizes[3];
    int count = 0;
    for (char *end = text; count < 3 && *text != '\0'; text = *end == 'x' ? end + 1 : end) {
        sizes[count] = strtoll(text, &end, 10);
        if (*end == '!')
            end++;
        else
            x->header[x->dims++] = sizes[count];
        count++;
    }
    for (int i = 0; i < 3; i++) x->size[i] = i < 3 - count ? 1 : sizes[i - (3 - count)];
}

int main(int argc, char **argv) {
    if (argc != 7 && argc != 9) {
        fprintf(stderr, "usage: npy_make FILE DESCR ORDER VERSION SHAPE FILL [ALPHA BETA]\n");
        return 2;
    }
    array x = {.descr = argv[2], .fortran = argv[3][0] == 'F', .version = atoi(argv[4])};
    fill f = {.name = argv[6][0], .alpha = 1};
    read_shape(&x, argv[5]);
    if (strncmp(argv[6], "ab:", 3) == 0) {
        f.name = 'p';
        f.k = atoll(argv[6] + 3);
    }
    if (argc == 9) {
        f.alpha = atoi(argv[7]);
        f.beta = atoi(argv[8]);
    }
    FILE *file = fopen(argv[1], "wb");
    if (file == NULL) {
        perror(argv[1]);
        return 1;
    }
    write_header(&x, file);
    write_data(&x, &f, file);
    return fclose(file) == 0 ? 0 : 1;
}
