/* kernel_source.c: finding a kernel's text, and reading what it says of itself. */
#include "kernel_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

static tess_status copy_embedded(const char *file, char **text, sentence *why) {
    for (const kernel_file *f = kernel_files; f->name; f++) {
        if (strcmp(f->name, file) != 0) continue;
        size_t size = strlen(f->text) + 1;
        *text = memory_alloc(size);
        if (!*text) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the text of %s", file);
        memcpy(*text, f->text, size);
        return TESS_OK;
    }
    return status_fail(why, TESS_ERROR_INTERNAL, "kernel file '%s' is not in the library", file);
}

/* The whole file behind `handle`, with a zero byte after it. */
static tess_status read_all(int handle, const char *path, char **text, sentence *why) {
    struct stat facts;
    if (fstat(handle, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > 1 << 20)
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s is no kernel file: not a regular file of at most 1 MiB", path);
    size_t size = (size_t)facts.st_size, have = 0;
    *text = memory_alloc(size + 1);
    if (!*text) return status_fail(why, TESS_ERROR_MEMORY, "no memory for the text of %s", path);
    while (have < size) {
        ssize_t got = read(handle, *text + have, size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += (size_t)got;
    }
    (*text)[have] = '\0';
    return TESS_OK;
}

tess_status kernel_source_read(const char *file, char **text, sentence *why) {
    *text = NULL;
    const char *directory = getenv("TESSERA_KERNEL_DIR");
    int is_path = strchr(file, '/') != NULL;
    if (!is_path && (!directory || !directory[0])) return copy_embedded(file, text, why);
    char path[1024];
    if (snprintf(path, sizeof path, "%s%s%s", is_path ? "" : directory, is_path ? "" : "/", file) >=
        (int)sizeof path)
        return status_fail(why, TESS_ERROR_KERNEL, "the path of a kernel is too long: %.200s...",
                           is_path ? file : directory);
    int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not make us wait */
    if (handle < 0)
        return status_fail(why, TESS_ERROR_KERNEL, "%s could not be read (%s)%s", path, strerror(errno),
                           is_path ? "" : "; TESSERA_KERNEL_DIR says to look there");
    tess_status status = read_all(handle, path, text, why);
    close(handle);
    return status;
}

/* Headers of the simulator stay as they are: it has them beside the kernel. */
static int is_simulators(const char *name) {
    size_t length = strlen(name);
    return length > 6 && strcmp(name + length - 6, "_sim.h") == 0;
}

/* The last line among the first `size` bytes that includes a file of ours, and that file's name; NULL if there is none. */
static char *find_include(char *text, size_t size, char name[64]) {
    static const char word[] = "#include \"";
    char *found = NULL, *end = text + size, *next;
    for (char *line = text; line && line < end; line = next) {
        next = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
        if (strncmp(line, word, sizeof word - 1) != 0) continue;
        char *begin = line + sizeof word - 1;
        size_t length = strcspn(begin, "\"\n");
        if (length == 0 || length >= 64 || begin[length] != '"') continue;
        char candidate[64] = {0};
        memcpy(candidate, begin, length);
        if (is_simulators(candidate)) continue;
        memcpy(name, candidate, sizeof candidate);
        found = line;
    }
    return found;
}

static int lines_before(const char *text, const char *end) {
    int count = 0;
    for (; text < end; text++) count += *text == '\n';
    return count;
}

static tess_status read_whole(const char *file, int depth, char **text, sentence *why);

/* Puts the file of that name in the place of the line that includes it. */
static tess_status expand(const char *file, int depth, char **text, const char *line, const char *name,
                          sentence *why) {
    char *header = NULL;
    tess_status status = read_whole(name, depth + 1, &header, why);
    const char *after = line + strcspn(line, "\n");
    size_t room = status == TESS_OK ? strlen(*text) + strlen(header) + strlen(file) + 128 : 0;
    char *whole = room ? memory_alloc(room) : NULL;
    if (whole)
        snprintf(whole, room, "%.*s#line 1 \"%s\"\n%s\n#line %d \"%s\"%s", (int)(line - *text), *text, name,
                 header, lines_before(*text, line) + 2, file, after);
    else if (status == TESS_OK)
        status = status_fail(why, TESS_ERROR_MEMORY, "no memory for the text of %s", file);
    memory_free(header);
    memory_free(*text);
    *text = whole;
    return status;
}

/* `depth`: how many files have included this one, which is itself never among them. From the last line that includes
 * something to the first, so that lines before it keep their numbers. */
static tess_status read_whole(const char *file, int depth, char **text, sentence *why) {
    enum { DEEPEST = 8 };
    char name[64], *line;
    if (depth > DEEPEST)
        return status_fail(why, TESS_ERROR_KERNEL, "%s is included by files that it includes", file);
    TRY(kernel_source_read(file, text, why));
    for (size_t size = strlen(*text); (line = find_include(*text, size, name)) != NULL;) {
        size = (size_t)(line - *text);
        TRY(expand(file, depth, text, line, name, why));
    }
    return TESS_OK;
}

tess_status kernel_source_read_whole(const char *file, char **text, sentence *why) {
    return read_whole(file, 0, text, why);
}

/* "/" "* simt_05_shared: stage tiles ..." gives "stage tiles ...", without a full stop at the end. */
static tess_status parse_summary(const char *file, const char *text, kernel_source *out, sentence *why) {
    size_t stem = strcspn(file, "."), line = strcspn(text, "\n");
    if (strncmp(text, "/* ", 3) != 0 || strncmp(text + 3, file, stem) != 0 ||
        strncmp(text + 3 + stem, ": ", 2) != 0)
        return status_fail(why, TESS_ERROR_KERNEL, "%s must begin with \"/* %.*s: what it shows\"", file,
                           (int)stem, file);
    size_t start = stem + 5;
    while (line > start && (text[line - 1] == ' ' || text[line - 1] == '.')) line--;
    snprintf(out->summary, sizeof out->summary, "%.*s", (int)(line - start), text + start);
    return TESS_OK;
}

/* The word at `at`, up to 15 letters. */
static void take_word(const char *at, char word[16]) {
    size_t length = 0;
    while (length < 15 && (isalnum((unsigned char)at[length]) || at[length] == '_')) length++;
    memcpy(word, at, length);
    word[length] = '\0';
}

/* Reads one parameter whose #ifndef line begins at `line`. Other uses of #ifndef are passed over. A long comment may have moved
 * the value to the line after the name. */
static tess_status parse_param(const char *file, const char *line, kernel_source *out, size_t *used,
                               sentence *why) {
    char name[16], defined[16];
    take_word(line + strlen("#ifndef "), name);
    const char *next = strchr(line, '\n');
    if (!next || strncmp(next + 1, "#define ", 8) != 0) return TESS_OK;
    take_word(next + 9, defined);
    const char *value = next + 9 + strlen(defined), *end;
    if (strncmp(value, " \\\n", 3) == 0) value += 3;
    long long number = strtoll(value, (char **)(uintptr_t)&end, 10);
    if (strcmp(name, defined) != 0 || end == value) return TESS_OK;
    if (out->param_count == KERNEL_SOURCE_PARAMS)
        return status_fail(why, TESS_ERROR_KERNEL, "%s has more than %d parameters: %s is one too many", file,
                           KERNEL_SOURCE_PARAMS, name);
    int at = out->param_count++;
    strcpy(out->names[at], name);
    out->defaults[at] = number;
    const char *open = strstr(end, "/* "), *close = open ? strstr(open, " */") : NULL,
               *eol = strchr(end, '\n');
    int length = close && eol && open < eol ? (int)(close - open - 3) : 0;
    int more = snprintf(out->params + *used, sizeof out->params - *used, "%s%s: %.*s (%lld)",
                        *used ? "\n" : "", name, length, length ? open + 3 : "", number);
    if (more > 0 && (size_t)more < sizeof out->params - *used) *used += (size_t)more;
    return TESS_OK;
}

tess_status kernel_source_parse(const char *file, const char *text, kernel_source *out, sentence *why) {
    memset(out, 0, sizeof *out);
    TRY(parse_summary(file, text, out, why));
    size_t used = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, "#ifndef ", 8) == 0) TRY(parse_param(file, line, out, &used, why));
    }
    return TESS_OK;
}
