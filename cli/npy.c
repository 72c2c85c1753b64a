/* npy.c: reads and writes the header of a .npy file.
 *
 * After the magic, the version and a length comes a Python dictionary, as text:
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * Invariant: the cursor never passes the end of the header, whatever the bytes are, and there is no recursion:
 * a value that is not of the one form its key takes ends the reading at its first byte.
 */
#include "npy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char MAGIC[] = "\x93NUMPY";
enum { MAGIC_SIZE = 6, VERSION_SIZE = 2, ALIGNMENT = 64 };

/* The element types, as NumPy's letters and as ours. The first row of a type is how it is written. */
static const struct {
    const char *code;
    tess_type type;
    size_t size;
} codes[] = {
    {"f2", TESS_F16, 2}, {"f4", TESS_F32, 4},  {"f8", TESS_F64, 8},  {"i1", TESS_I8, 1},
    {"i4", TESS_I32, 4}, {"u2", TESS_BF16, 2}, {"V2", TESS_BF16, 2},
};
enum { CODE_COUNT = sizeof codes / sizeof *codes };

typedef struct reader {
    const unsigned char *at, *begin, *end;
    char *why;
    size_t why_size;
} reader;

__attribute__((format(printf, 2, 3))) static bool refuse(reader *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(r->why, r->why_size, format, args);
    va_end(args);
    return false;
}

/* A piece of the file as it may be shown: a terminal takes orders from some bytes. */
static const char *show(const unsigned char *text, size_t length, char shown[32]) {
    size_t most = length < 24 ? length : 24;
    for (size_t i = 0; i < most; i++) shown[i] = text[i] >= 32 && text[i] < 127 ? (char)text[i] : '?';
    snprintf(shown + most, 32 - most, "%s", length > most ? "..." : "");
    return shown;
}

static bool is_space(unsigned char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* The next byte that is no white space, or -1 at the end. It is not taken. */
static int peek(reader *r) {
    while (r->at < r->end && is_space(*r->at)) r->at++;
    return r->at < r->end ? *r->at : -1;
}

static bool take(reader *r, char wanted) {
    if (peek(r) != (unsigned char)wanted) return false;
    r->at++;
    return true;
}

/* Refuses what stands at the cursor, where `wanted` should. */
static bool unexpected(reader *r, const char *wanted) {
    char shown[32];
    if (peek(r) < 0) return refuse(r, "its header ends where %s should come", wanted);
    size_t left = (size_t)(r->end - r->at), length = 0;
    while (length < left && !is_space(r->at[length])) length++;
    return refuse(r, "its header has '%s' at byte %zu, where %s should be", show(r->at, length, shown),
                  (size_t)(r->at - r->begin), wanted);
}

/* A string without escapes, in either kind of quotes. */
static bool read_string(reader *r, const char *wanted, const unsigned char **text, size_t *length) {
    int quote = peek(r);
    if (quote != '\'' && quote != '"') return unexpected(r, wanted);
    const unsigned char *start = ++r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\\' && *r->at != '\n') r->at++;
    if (r->at == r->end || *r->at != quote) {
        r->at = start - 1;
        return unexpected(r, "a plain string");
    }
    *text = start;
    *length = (size_t)(r->at++ - start);
    return true;
}

static bool is_word(const unsigned char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool read_type(reader *r, npy_header *h) {
    const unsigned char *text;
    size_t length;
    char shown[32];
    if (peek(r) == '[' || peek(r) == '(' || peek(r) == '{')
        return refuse(r, "its elements are records (a structured type); they must be numbers");
    if (!read_string(r, "the element type, a string,", &text, &length)) return false;
    const unsigned char *code = text;
    char order = '=';
    if (length > 0 && strchr("<>=|", *text) != NULL && *text != '\0') order = (char)*code++;
    size_t code_length = length - (size_t)(code - text);
    for (size_t i = 0; i < CODE_COUNT; i++) {
        if (!is_word(code, code_length, codes[i].code)) continue;
        h->type = codes[i].type;
        h->item_size = codes[i].size;
        bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        h->swapped = h->item_size > 1 && (order == '<' || order == '>') && (order == '<') != little;
        return true;
    }
    const char *what = "";
    if (code_length > 0 && *code == 'O') what = ", Python objects";
    if (code_length > 0 && (*code == 'U' || *code == 'S')) what = ", text";
    if (code_length > 0 && *code == 'c') what = ", complex numbers";
    return refuse(r, "its elements are of type '%s'%s; they must be f2, f4, f8, i1 or i4, or u2 for bf16",
                  show(text, length, shown), what);
}

static bool read_bool(reader *r, bool *value) {
    static const char *const words[2] = {"False", "True"};
    peek(r);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(r->end - r->at) < length || memcmp(r->at, words[i], length) != 0) continue;
        r->at += length;
        *value = i == 1;
        return true;
    }
    return unexpected(r, "True or False");
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

/* A size: decimal, without sign or leading zeros; Python 2 wrote an L behind some. */
static bool read_size(reader *r, int64_t *value) {
    if (peek(r) == '-') return refuse(r, "its shape has a negative size");
    if (!is_digit(peek(r))) return unexpected(r, "a size");
    const unsigned char *start = r->at;
    int64_t number = 0;
    while (r->at < r->end && is_digit(*r->at)) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *r->at - '0', &number))
            return refuse(r, "its shape has a size beyond 2^63");
        r->at++;
    }
    if (*start == '0' && r->at - start > 1) {
        r->at = start;
        return unexpected(r, "a decimal size");
    }
    if (r->at < r->end && *r->at == 'L') r->at++;
    *value = number;
    return true;
}

static bool read_shape(reader *r, npy_header *h) {
    if (!take(r, '(')) return unexpected(r, "the shape, a tuple of sizes,");
    bool comma = true;
    h->dims = 0;
    while (!take(r, ')')) {
        if (!comma) return unexpected(r, "a comma or the end of the shape");
        if (h->dims == NPY_MOST_DIMS) return refuse(r, "its shape has more than %d sizes", NPY_MOST_DIMS);
        if (!read_size(r, &h->shape[h->dims])) return false;
        h->dims++;
        comma = take(r, ',');
    }
    if (h->dims == 1 && !comma) return refuse(r, "its shape is a number; it must be a tuple, as (3,)");
    return true;
}

/* One "'key': value". Bit i of *seen says whether key i came. */
static bool read_entry(reader *r, npy_header *h, unsigned *seen) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const unsigned char *text;
    size_t length;
    unsigned key = 0;
    char shown[32];
    if (!read_string(r, "one of the keys 'descr', 'fortran_order', 'shape'", &text, &length)) return false;
    while (key < 3 && !is_word(text, length, keys[key])) key++;
    if (key == 3) return refuse(r, "its header has an unknown key '%s'", show(text, length, shown));
    if ((*seen & 1U << key) != 0) return refuse(r, "its header has the key '%s' twice", keys[key]);
    *seen |= 1U << key;
    if (!take(r, ':')) return unexpected(r, "a colon");
    if (key == 0) return read_type(r, h);
    return key == 1 ? read_bool(r, &h->fortran) : read_shape(r, h);
}

static bool read_dictionary(reader *r, npy_header *h) {
    unsigned seen = 0;
    bool comma = true;
    if (!take(r, '{')) return unexpected(r, "a dictionary");
    while (!take(r, '}')) {
        if (!comma) return unexpected(r, "a comma or the end of the dictionary");
        if (!read_entry(r, h, &seen)) return false;
        comma = take(r, ',');
    }
    if (seen != 7)
        return refuse(r, "its header lacks the key '%s'",
                      (seen & 1) == 0   ? "descr"
                      : (seen & 2) == 0 ? "fortran_order"
                                        : "shape");
    return peek(r) < 0 || unexpected(r, "nothing but spaces");
}

/* Magic, version and length: leaves the reader on the text of the header. */
static bool read_preamble(reader *r, const unsigned char *bytes, size_t size) {
    size_t length = 0, known = size < MAGIC_SIZE ? size : MAGIC_SIZE;
    if (size == 0) return refuse(r, "it is empty");
    if (memcmp(bytes, MAGIC, known) != 0) return refuse(r, "it does not begin as a .npy file does");
    if (size < MAGIC_SIZE + VERSION_SIZE)
        return refuse(r, "it ends after %zu bytes, inside its header", size);
    int major = bytes[MAGIC_SIZE], minor = bytes[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0)
        return refuse(r, "it is of version %d.%d; 1.0, 2.0 and 3.0 are known", major, minor);
    size_t width = major == 1 ? 2 : 4, begin = MAGIC_SIZE + VERSION_SIZE + width;
    if (size < begin) return refuse(r, "it ends after %zu bytes, inside its header", size);
    for (size_t i = 0; i < width; i++) length |= (size_t)bytes[MAGIC_SIZE + VERSION_SIZE + i] << 8 * i;
    if (length > size - begin)
        return refuse(r, "its header should be %zu bytes long, but it ends after %zu", length, size - begin);
    r->begin = bytes;
    r->at = bytes + begin;
    r->end = r->at + length;
    return true;
}

/* The bytes the shape asks for. A shape with a 0 is empty however large its other sizes are. */
static bool count_bytes(reader *r, const npy_header *h, size_t *bytes) {
    *bytes = h->item_size;
    for (int i = 0; i < h->dims; i++)
        if (h->shape[i] == 0) *bytes = 0;
    for (int i = 0; i < h->dims && *bytes != 0; i++)
        if (__builtin_mul_overflow(*bytes, (size_t)h->shape[i], bytes) || *bytes > PTRDIFF_MAX)
            return refuse(r, "its shape asks for more bytes than any file could have");
    return true;
}

bool npy_parse(const unsigned char *bytes, size_t size, npy_header *out, char *why, size_t why_size) {
    reader r = {.why = why, .why_size = why_size};
    npy_header h = {0};
    if (!read_preamble(&r, bytes, size) || !read_dictionary(&r, &h) || !count_bytes(&r, &h, &h.data_size))
        return false;
    h.data_offset = (size_t)(r.end - bytes);
    size_t there = size - h.data_offset;
    if (there < h.data_size)
        return refuse(&r, "it is cut short: its shape asks for %zu bytes of data, but %zu are there",
                      h.data_size, there);
    if (there > h.data_size)
        return refuse(&r, "it is too long: %zu bytes follow its data", there - h.data_size);
    *out = h;
    return true;
}

static const char *code_of(tess_type type) {
    for (size_t i = 0; i < CODE_COUNT; i++)
        if (codes[i].type == type) return codes[i].code;
    return "";
}

size_t npy_format(const npy_header *h, char text[NPY_HEADER_ROOM]) {
    enum { BEGIN = MAGIC_SIZE + VERSION_SIZE + 2 };
    char shape[NPY_MOST_WRITTEN_DIMS * 24 + 1] = "";
    size_t used = 0;
    for (int i = 0; i < h->dims && i < NPY_MOST_WRITTEN_DIMS; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64 "%s", i > 0 ? " " : "",
                                 h->shape[i], i + 1 < h->dims || h->dims == 1 ? "," : "");
    const char *code = code_of(h->type);
    char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    if (code[1] == '1') order = '|';
    int length = snprintf(text + BEGIN, NPY_HEADER_ROOM - BEGIN,
                          "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%s), }", order, code,
                          h->fortran ? "True" : "False", shape);
    size_t end = BEGIN + (size_t)length;
    size_t total = (end + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + end, ' ', total - end);
    text[total - 1] = '\n';
    memcpy(text, MAGIC, MAGIC_SIZE);
    text[MAGIC_SIZE] = 1;
    text[MAGIC_SIZE + 1] = 0;
    text[MAGIC_SIZE + 2] = (char)((total - BEGIN) & 255);
    text[MAGIC_SIZE + 3] = (char)((total - BEGIN) >> 8);
    return total;
}
