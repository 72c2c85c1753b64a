/* registry_file.c: rows made when they are asked for. The same file with the same text is the same row. */
#include "registry_file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

typedef struct file_row {
    struct file_row *next;
    kernel_row row;
    kernel_source source;
    char path[512], name[64], block[128], tile[128], shared[128], types[96];
    char *text; /* what the file held */
} file_row;

static file_row *all_rows;
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;

/* The rest of the line " * word: rest" of the first comment, without what comes after two blanks; "" if it is
 * not there. */
static void read_line(const char *text, const char *word, char *out, size_t size) {
    char start[32];
    const char *end = strstr(text, "*/");
    snprintf(start, sizeof start, "\n * %s:", word);
    const char *line = strstr(text, start);
    out[0] = '\0';
    if (!line || !end || line > end) return;
    line += strlen(start);
    line += strspn(line, " ");
    size_t length = strcspn(line, "\n"), comment = length;
    for (size_t i = 0; i + 1 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && i < comment) comment = i;
    while (comment > 0 && line[comment - 1] == ' ') comment--;
    snprintf(out, size, "%.*s", (int)comment, line);
}

/* The row of the library's kernel of that name, NULL if there is none. */
static const kernel_row *find_namesake(const char *name) {
    const kernel_row *row;
    for (int i = 0; (row = registry_row(i)) != NULL; i++)
        if (row->block && strcmp(row->info.name, name) == 0) return row;
    return NULL;
}

static tess_status fill_row(file_row *made, const char *device, sentence *why) {
    const char *slash = strrchr(made->path, '/'), *file = slash ? slash + 1 : made->path;
    TRY(kernel_source_parse(file, made->text, &made->source, why));
    snprintf(made->name, sizeof made->name, "%.*s", (int)strcspn(file, "."), file);
    const kernel_row *namesake = find_namesake(made->name);
    if (namesake) {
        made->row = *namesake;
    } else {
        read_line(made->text, "block", made->block, sizeof made->block);
        read_line(made->text, "tile", made->tile, sizeof made->tile);
        read_line(made->text, "shared", made->shared, sizeof made->shared);
        read_line(made->text, "types", made->types, sizeof made->types);
        if (!made->block[0] || !made->tile[0])
            return status_fail(why, TESS_ERROR_KERNEL,
                               "%s does not say how it is launched: its first comment needs \" * block: X, "
                               "Y\" (threads) and \" * tile: rows, columns\" (of C, for each block)",
                               made->path);
        made->row =
            (kernel_row){.info = {made->name, device, 1000, "", made->types[0] ? made->types : "f32", "", ""},
                         .block = made->block,
                         .tile = made->tile,
                         .shared = made->shared[0] ? made->shared : NULL};
    }
    made->row.info.summary = made->source.summary;
    made->row.info.params = made->source.params;
    made->row.source = &made->source;
    made->row.path = made->path;
    return TESS_OK;
}

/* Takes `text` over. */
static file_row *make_row(const char *device, const char *path, char *text, sentence *why) {
    file_row *made = memory_alloc_zeroed(sizeof *made);
    tess_status status = TESS_OK;
    if (!made) status = status_fail(why, TESS_ERROR_MEMORY, "no memory for a kernel's row");
    if (made) {
        snprintf(made->path, sizeof made->path, "%s", path);
        made->text = text;
        status = fill_row(made, device, why);
    }
    if (status == TESS_OK) return made;
    memory_free(text);
    memory_free(made);
    return NULL;
}

const kernel_row *registry_file_row(const char *device, const char *path, sentence *why) {
    char *text;
    if (strcmp(device, "gpu") != 0) {
        status_fail(why, TESS_ERROR_KERNEL, "%.200s is a kernel for a GPU, but this context is a %s", path,
                    device);
        return NULL;
    }
    if (strlen(path) >= sizeof all_rows->path) {
        status_fail(why, TESS_ERROR_KERNEL, "the path of a kernel is too long: %.200s...", path);
        return NULL;
    }
    if (kernel_source_read(path, &text, why) != TESS_OK) return NULL;
    pthread_mutex_lock(&rows_lock);
    file_row *row = all_rows;
    while (row && (strcmp(row->path, path) != 0 || strcmp(row->text, text) != 0)) row = row->next;
    if (row) {
        memory_free(text);
    } else {
        row = make_row(device, path, text, why);
        if (row) {
            row->next = all_rows;
            all_rows = row;
        }
    }
    pthread_mutex_unlock(&rows_lock);
    return row ? &row->row : NULL;
}
