/* table.c: a set of results: columns that say what they hold, and rows of cells.
 *
 * Invariant: a cell holds a value, never its rendering, so every form of output says the same thing; a cell
 * that was not set is an empty field everywhere (null in JSON).
 */
#include "table.h"
#include "say.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_TEXT_MAX = 256 };

static void *must(void *memory) {
    if (memory != NULL) return memory;
    say_error("out of memory");
    exit(EXIT_CHECK);
}

void table_open(table *t, const table_column *columns, size_t count) {
    *t = (table){.columns = columns,
                 .column_count = count,
                 .hidden = must(calloc(count, sizeof *t->hidden)),
                 .widths = must(calloc(count, sizeof *t->widths))};
    for (size_t i = 0; i < count; i++) {
        t->hidden[i] = columns[i].title == NULL;
        t->widths[i] = columns[i].width;
        if (columns[i].title != NULL) table_widen(t, i, strlen(columns[i].title));
    }
}

void table_close(table *t) {
    while (t->row_count > 0) table_drop_row(t);
    free(t->cells);
    free(t->hidden);
    free(t->widths);
    *t = (table){0};
}

void table_hide(table *t, size_t column) {
    t->hidden[column] = true;
}

void table_widen(table *t, size_t column, size_t width) {
    if (t->widths[column] < (int)width) t->widths[column] = (int)width;
}

void table_add_row(table *t) {
    if (t->row_count == t->room) {
        t->room = t->room == 0 ? 16 : 2 * t->room;
        t->cells = must(realloc(t->cells, t->room * t->column_count * sizeof *t->cells));
    }
    memset(t->cells + t->row_count * t->column_count, 0, t->column_count * sizeof *t->cells);
    t->row_count++;
}

static table_cell *last_cell(table *t, size_t column) {
    return &t->cells[(t->row_count - 1) * t->column_count + column];
}

void table_drop_row(table *t) {
    for (size_t i = 0; i < t->column_count; i++) free(last_cell(t, i)->text);
    t->row_count--;
}

static double sort_key(const table *t, size_t row, size_t column) {
    const table_cell *cell = &t->cells[row * t->column_count + column];
    return cell->held == CELL_REAL ? cell->real : (double)INFINITY;
}

void table_sort_rows(table *t, size_t first, size_t column) {
    size_t bytes = t->column_count * sizeof *t->cells;
    table_cell *held = must(malloc(bytes));
    for (size_t i = first + 1; i < t->row_count; i++) {
        size_t to = i;
        double key = sort_key(t, i, column);
        while (to > first && sort_key(t, to - 1, column) > key) to--;
        if (to == i) continue;
        table_cell *place = t->cells + to * t->column_count;
        memcpy(held, t->cells + i * t->column_count, bytes);
        memmove(place + t->column_count, place, (i - to) * bytes);
        memcpy(place, held, bytes);
    }
    free(held);
}

void table_set_text(table *t, size_t column, const char *text) {
    table_cell *cell = last_cell(t, column);
    free(cell->text);
    cell->text = must(strdup(text));
    cell->held = CELL_TEXT;
}

void table_set_count(table *t, size_t column, int64_t value) {
    table_cell *cell = last_cell(t, column);
    cell->held = CELL_COUNT;
    cell->count = value;
}

void table_set_flag(table *t, size_t column, bool value) {
    table_set_count(t, column, value);
    last_cell(t, column)->held = CELL_FLAG;
}

void table_set_real(table *t, size_t column, double value) {
    if (isnan(value)) return;
    table_cell *cell = last_cell(t, column);
    cell->held = CELL_REAL;
    cell->real = value;
}

void table_set_tone(table *t, size_t column, table_tone tone) {
    last_cell(t, column)->tone = tone;
}

static void show_bytes(char *out, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++) bytes /= 1024;
    snprintf(out, CELL_TEXT_MAX, bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

/* Three significant digits at every scale, so that numbers in a column can be compared at a glance. */
static void show_millis(char *out, double ms) {
    double value = ms;
    const char *unit = "ms";
    if (ms >= 1e3) {
        value = ms / 1e3;
        unit = "s";
    } else if (ms < 1e-3) {
        value = ms * 1e6;
        unit = "ns";
    } else if (ms < 1) {
        value = ms * 1e3;
        unit = "us";
    }
    int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
    snprintf(out, CELL_TEXT_MAX, "%.*f %s", decimals, value, unit);
}

/* A cell as people see it. */
static void show_cell(const table_column *column, const table_cell *cell, char *out) {
    out[0] = '\0';
    if (cell->held == CELL_EMPTY) return;
    if (cell->held == CELL_TEXT) {
        snprintf(out, CELL_TEXT_MAX, "%s", cell->text);
        say_plain(out);
        return;
    }
    double value = cell->held == CELL_REAL ? cell->real : (double)cell->count;
    switch (column->kind) {
    case TABLE_TEXT:
    case TABLE_COUNT: snprintf(out, CELL_TEXT_MAX, "%.15g", value); break;
    case TABLE_BYTES: show_bytes(out, value); break;
    case TABLE_MILLIS: show_millis(out, value); break;
    case TABLE_RATE: snprintf(out, CELL_TEXT_MAX, value < 10 ? "%.2f" : "%.1f", value); break;
    case TABLE_RATIO: snprintf(out, CELL_TEXT_MAX, "%.2f", value); break;
    case TABLE_PERCENT: snprintf(out, CELL_TEXT_MAX, "%.1f%%", value); break;
    case TABLE_ERROR: snprintf(out, CELL_TEXT_MAX, value == 0 ? "%.0f" : "%.1e", value); break;
    }
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room on the screen. */
static int screen_width(const char *text) {
    int width = 0;
    for (; *text != '\0'; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_padded(FILE *stream, const char *text, int width, bool right, bool last) {
    int padding = width - screen_width(text);
    if (padding < 0) padding = 0;
    if (right) fprintf(stream, "%*s%s", padding, "", text);
    if (!right) fprintf(stream, "%s%*s", text, last ? 0 : padding, "");
}

static size_t last_shown(const table *t) {
    size_t last = 0;
    for (size_t i = 0; i < t->column_count; i++)
        if (!t->hidden[i]) last = i;
    return last;
}

static void measure(table *t) {
    char text[CELL_TEXT_MAX];
    for (size_t row = t->printed; row < t->row_count; row++) {
        for (size_t i = 0; i < t->column_count; i++) {
            if (t->hidden[i]) continue;
            show_cell(&t->columns[i], &t->cells[row * t->column_count + i], text);
            table_widen(t, i, (size_t)screen_width(text));
        }
    }
}

static void print_heading(const table *t, FILE *stream, bool colour) {
    size_t last = last_shown(t);
    if (colour) fputs("\033[1m", stream);
    for (size_t i = 0; i <= last; i++) {
        if (t->hidden[i]) continue;
        print_padded(stream, t->columns[i].title, t->widths[i], t->columns[i].kind != TABLE_TEXT, i == last);
        fputs(i == last ? "" : "  ", stream);
    }
    fputs(colour ? "\033[0m\n" : "\n", stream);
}

void table_print(table *t, FILE *stream) {
    static const char *const tones[] = {"", "\033[32m", "\033[1;31m"};
    bool colour = say_in_colour(stream);
    size_t last = last_shown(t);
    char text[CELL_TEXT_MAX];
    measure(t);
    say_progress_end();
    if (t->printed == 0) print_heading(t, stream, colour);
    for (; t->printed < t->row_count; t->printed++) {
        for (size_t i = 0; i <= last; i++) {
            if (t->hidden[i]) continue;
            const table_cell *cell = &t->cells[t->printed * t->column_count + i];
            bool toned = colour && cell->tone != TABLE_PLAIN;
            show_cell(&t->columns[i], cell, text);
            if (toned) fputs(tones[cell->tone], stream);
            print_padded(stream, text, t->widths[i], t->columns[i].kind != TABLE_TEXT, i == last);
            if (toned) fputs("\033[0m", stream);
            fputs(i == last ? "\n" : "  ", stream);
        }
    }
    if (stream == stdout) say_flush();
}

void table_print_markdown(const table *t, FILE *stream) {
    for (size_t i = 0; i < t->column_count; i++)
        if (!t->hidden[i]) fprintf(stream, "| %s ", t->columns[i].title);
    fputs("|\n", stream);
    for (size_t i = 0; i < t->column_count; i++)
        if (!t->hidden[i]) fputs(t->columns[i].kind == TABLE_TEXT ? "|---" : "|--:", stream);
    fputs("|\n", stream);
    char text[CELL_TEXT_MAX];
    for (size_t row = 0; row < t->row_count; row++) {
        for (size_t i = 0; i < t->column_count; i++) {
            if (t->hidden[i]) continue;
            show_cell(&t->columns[i], &t->cells[row * t->column_count + i], text);
            fputs("| ", stream);
            for (const char *c = text; *c != '\0'; c++)
                fprintf(stream, *c == '|' ? "\\%c" : "%c", *c == '\n' || *c == '\r' ? ' ' : *c);
            fputs(" ", stream);
        }
        fputs("|\n", stream);
    }
}

/* The fewest digits that read back as the same double. */
static void print_real(double value, FILE *stream) {
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, stream);
}

/* Quotes as RFC 4180 asks. */
static void print_csv_text(const char *text, FILE *stream) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) fprintf(stream, *text == '"' ? "\"%c" : "%c", *text);
    fputc('"', stream);
}

void table_print_csv_heading(const table *t, FILE *stream) {
    const char *separator = "";
    for (size_t i = 0; i < t->column_count; i++) {
        if (!(t->columns[i].files & TABLE_IN_CSV)) continue;
        fprintf(stream, "%s%s", separator, t->columns[i].name);
        separator = ",";
    }
    fputc('\n', stream);
}

void table_print_csv_rows(const table *t, FILE *stream) {
    for (size_t row = 0; row < t->row_count; row++) {
        const char *separator = "";
        for (size_t i = 0; i < t->column_count; i++) {
            if (!(t->columns[i].files & TABLE_IN_CSV)) continue;
            const table_cell *cell = &t->cells[row * t->column_count + i];
            fputs(separator, stream);
            separator = ",";
            if (cell->held == CELL_TEXT) print_csv_text(cell->text, stream);
            if (cell->held == CELL_COUNT) fprintf(stream, "%" PRId64, cell->count);
            if (cell->held == CELL_REAL) print_real(cell->real, stream);
        }
        fputc('\n', stream);
    }
}

/* The bytes of the letter there, 0 if it is none of UTF-8. */
static int letter_bytes(const unsigned char *at) {
    int bytes = at[0] < 0x80                    ? 1
                : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                : 0;
    for (int i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return bytes;
}

/* A byte that is no letter is shown as the sign for that, U+FFFD: a document with it could not be read. */
void table_print_json_text(const char *text, FILE *stream) {
    fputc('"', stream);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int bytes = letter_bytes(at);
        if (*at == '"' || *at == '\\')
            fprintf(stream, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(stream, "\\u%04x", *at);
        else if (bytes == 0)
            fputs("\\ufffd", stream);
        else
            fwrite(at, 1, (size_t)bytes, stream);
        at += bytes > 0 ? bytes : 1;
    }
    fputc('"', stream);
}

/* JSON has no infinities; they become null, like what is not known. */
static void print_json_cell(const table_cell *cell, FILE *stream) {
    if (cell->held == CELL_TEXT)
        table_print_json_text(cell->text, stream);
    else if (cell->held == CELL_COUNT)
        fprintf(stream, "%" PRId64, cell->count);
    else if (cell->held == CELL_FLAG)
        fputs(cell->count ? "true" : "false", stream);
    else if (cell->held == CELL_REAL && isfinite(cell->real))
        print_real(cell->real, stream);
    else
        fputs("null", stream);
}

void table_print_json_rows(const table *t, FILE *stream) {
    for (size_t row = 0; row < t->row_count; row++) {
        const char *separator = "";
        fputs(row == 0 ? "\n    {\n" : ",\n    {\n", stream);
        for (size_t i = 0; i < t->column_count; i++) {
            if (!(t->columns[i].files & TABLE_IN_JSON)) continue;
            fputs(separator, stream);
            separator = ",\n";
            fprintf(stream, "      \"%s\": ", t->columns[i].name);
            print_json_cell(&t->cells[row * t->column_count + i], stream);
        }
        fputs("\n    }", stream);
    }
}

void table_print_json(const table *t, FILE *stream) {
    fputc('[', stream);
    table_print_json_rows(t, stream);
    fputs(t->row_count > 0 ? "\n  ]" : "]", stream);
}
