/* sizes.c: parses sizes, ranges and shapes.
 *
 * Invariant: every shape in a list has sizes from 0 to SIZES_LARGEST, and no list is longer than LONGEST, so
 * nobody who uses one has to fear overflow or a range that never ends.
 */
#include "sizes.h"
#include "say.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 100000, LINE_ROOM = 1 << 16 };

bool sizes_parse_one(const char *text, const char *end, int64_t *value) {
    if (end == NULL) end = text + strlen(text);
    if (text == end) return false;
    int64_t number = 0;
    for (; text < end; text++) {
        if (!isdigit((unsigned char)*text)) return false;
        number = number * 10 + (*text - '0');
        if (number > SIZES_LARGEST) return false;
    }
    *value = number;
    return true;
}

static bool add_batch(sizes_list *list, sizes_shape shape, int64_t batch) {
    if (list->count == LONGEST) {
        say_error("these are more than %d shapes; ask for fewer", LONGEST);
        return false;
    }
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 16 : 2 * list->room;
        sizes_shape *shapes = realloc(list->shapes, room * sizeof *shapes);
        if (shapes != NULL) list->shapes = shapes;
        int64_t *batches = realloc(list->batches, room * sizeof *batches);
        if (batches != NULL) list->batches = batches;
        if (shapes == NULL || batches == NULL) {
            say_error("out of memory");
            return false;
        }
        list->room = room;
    }
    list->batches[list->count] = batch;
    list->shapes[list->count++] = shape;
    return true;
}

bool sizes_add(sizes_list *list, sizes_shape shape) {
    return add_batch(list, shape, 0);
}

void sizes_free(sizes_list *list) {
    free(list->shapes);
    free(list->batches);
    *list = (sizes_list){0};
}

bool sizes_any_batch(const sizes_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (list->batches[i] > 0) return true;
    return false;
}

bool sizes_all_square(const sizes_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const sizes_shape *s = &list->shapes[i];
        if (s->m != s->n || s->n != s->k) return false;
    }
    return true;
}

static bool add_square(sizes_list *list, int64_t size) {
    return sizes_add(list, (sizes_shape){size, size, size});
}

static bool bad_size(const char *text, size_t length) {
    say_error("'%.*s' is not a size; write a number from 0 to %lld, a range as 128:4096:x2 or 1000:3000:500, "
              "or a list as 64,100,1000",
              (int)length, text, (long long)SIZES_LARGEST);
    return false;
}

/* "FROM:TO:STEP" or "FROM:TO:xFACTOR", both ends included. */
static bool add_range(sizes_list *list, const char *text, const char *colon, const char *end) {
    const char *second = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    int64_t from, to, step;
    if (second == NULL) {
        say_error("the range '%.*s' has no step; write FROM:TO:xFACTOR or FROM:TO:STEP, as 128:4096:x2",
                  (int)(end - text), text);
        return false;
    }
    bool geometric = second + 1 < end && second[1] == 'x';
    if (!sizes_parse_one(text, colon, &from) || !sizes_parse_one(colon + 1, second, &to) ||
        !sizes_parse_one(second + 1 + geometric, end, &step))
        return bad_size(text, (size_t)(end - text));
    if (from > to || step < 1 || (geometric && (step < 2 || from < 1))) {
        say_error("the range '%.*s' has no end; FROM must not exceed TO, STEP must be at least 1 and "
                  "xFACTOR at least x2 from 1 or more",
                  (int)(end - text), text);
        return false;
    }
    for (int64_t size = from; size <= to; size = geometric ? size * step : size + step)
        if (!add_square(list, size)) return false;
    return true;
}

bool sizes_add_squares(sizes_list *list, const char *text) {
    for (const char *item = text;; item++) {
        const char *end = item + strcspn(item, ",");
        const char *colon = memchr(item, ':', (size_t)(end - item));
        int64_t size;
        if (colon != NULL) {
            if (!add_range(list, item, colon, end)) return false;
        } else {
            if (!sizes_parse_one(item, end, &size)) return bad_size(item, (size_t)(end - item));
            if (!add_square(list, size)) return false;
        }
        if (*end == '\0') return true;
        item = end;
    }
}

/* Reads "MxNxK" or "MxNxKxBATCH" up to `end`. */
static bool parse_shape(const char *text, const char *end, sizes_shape *shape, int64_t *batch) {
    int64_t *const numbers[] = {&shape->m, &shape->n, &shape->k, batch};
    *batch = 0;
    for (int i = 0; i < 4; i++) {
        const char *x = memchr(text, 'x', (size_t)(end - text));
        if (!sizes_parse_one(text, x != NULL ? x : end, numbers[i])) return false;
        if (x == NULL) return i == 2 || (i == 3 && *batch > 0 && *batch <= SIZES_BATCH_LARGEST);
        text = x + 1;
    }
    return false;
}

bool sizes_add_shapes(sizes_list *list, const char *text) {
    for (const char *item = text;; item++) {
        const char *end = item + strcspn(item, ",");
        sizes_shape shape;
        int64_t batch;
        if (!parse_shape(item, end, &shape, &batch)) {
            say_error("'%.*s' is not a shape; write MxNxK, as 4097x4099x4101, each from 0 to %lld, or "
                      "MxNxKxBATCH, as 64x64x64x1000, with a batch from 1 to %d",
                      (int)(end - item), item, (long long)SIZES_LARGEST, SIZES_BATCH_LARGEST);
            return false;
        }
        if (!add_batch(list, shape, batch)) return false;
        if (*end == '\0') return true;
        item = end;
    }
}

/* Cuts a comment and the blanks around what is left. */
static char *trim(char *line) {
    line[strcspn(line, "#\r\n")] = '\0';
    while (isspace((unsigned char)*line)) line++;
    size_t length = strlen(line);
    while (length > 0 && isspace((unsigned char)line[length - 1])) line[--length] = '\0';
    return line;
}

/* The files that come with the command lie beside it: where it is installed, or in the sources it was
 * built from. */
static FILE *open_shipped(const char *name) {
    static const char *const places[] = {"../share/tessera/shapes", "../bench/shapes", "../../bench/shapes"};
    char self[PATH_MAX], path[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || strchr(name, '/') != NULL) return NULL;
    self[length] = '\0';
    const char *directory = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s/%s.txt", directory, places[i], name);
        FILE *file = fopen(path, "re");
        if (file != NULL) return file;
    }
    return NULL;
}

static FILE *open_shapes(const char *path) {
    FILE *file = fopen(path, "re");
    int why = errno;
    if (file == NULL) file = open_shipped(path);
    if (file == NULL)
        say_error("could not open the shapes file '%s': %s; with the command come: square, llm, skinny, "
                  "deep-k, "
                  "odd, batched",
                  path, strerror(why));
    return file;
}

/* A line without its end; false at the end of the file, or (*whole is false) if it is too long, or has a byte no text has. */
static bool read_line(FILE *file, char line[LINE_ROOM], bool *whole) {
    int length = 0, c;
    while ((c = getc(file)) != EOF && c != '\n') {
        *whole = c != '\0' && length < LINE_ROOM - 1;
        if (!*whole) return false;
        line[length++] = (char)c;
    }
    line[length] = '\0';
    return c != EOF || length > 0;
}

bool sizes_add_file(sizes_list *list, const char *path) {
    FILE *file = open_shapes(path);
    if (file == NULL) return false;
    char line[LINE_ROOM];
    size_t before = list->count;
    bool good = true, whole = true;
    for (int number = 1; good && read_line(file, line, &whole); number++) {
        const char *text = trim(line);
        if (text[0] == '\0') continue;
        good = strchr(text, 'x') != NULL && strchr(text, ':') == NULL ? sizes_add_shapes(list, text)
                                                                      : sizes_add_squares(list, text);
        if (!good) say_error("that was line %d of %s", number, path);
    }
    if (good && ferror(file)) {
        say_error("could not read the shapes file '%s': %s", path, strerror(errno));
        good = false;
    } else if (good && !whole) {
        say_error("the shapes file '%s' is no text, or has a line of more than %d characters", path,
                  LINE_ROOM - 1);
        good = false;
    } else if (good && list->count == before) {
        say_error("the shapes file '%s' holds no shape; write one MxNxK a line", path);
        good = false;
    }
    fclose(file);
    return good;
}
