/* lines.c: reading ELF sections, the line program of DWARF (versions 2 to 4), and the symbols of thread-local
 * memory. Nothing is believed: every read is checked against the end of its section. */
#include "lines.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "../memory.h"

/* A part of the image that is read from front to back; past its end there are zeros. */
typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static uint64_t take(cursor *c, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes && c->at < c->end; i++) value |= (uint64_t)*c->at++ << 8 * i;
    return value;
}

static uint64_t take_unsigned(cursor *c) {
    uint64_t value = 0;
    for (int shift = 0; c->at < c->end; shift += 7) {
        unsigned char byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) break;
    }
    return value;
}

static int64_t take_signed(cursor *c) {
    uint64_t value = 0;
    int shift = 0;
    while (c->at < c->end) {
        unsigned char byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if (byte & 0x40 && shift < 64) value |= ~UINT64_C(0) << shift;
        break;
    }
    return (int64_t)value;
}

static const char *take_text(cursor *c) {
    const char *text = (const char *)c->at;
    while (c->at < c->end && *c->at) c->at++;
    if (c->at == c->end) return "";
    c->at++;
    return text;
}

static void skip(cursor *c, uint64_t bytes) {
    c->at = bytes > (uint64_t)(c->end - c->at) ? c->end : c->at + bytes;
}

/* ---- ELF ---- */

/* The section of that name, or of that type if the name is NULL; empty if there is none. */
static cursor find_section(const char *image, size_t size, const char *name, unsigned type, Elf64_Shdr *out) {
    const cursor none = {NULL, NULL};
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (size < sizeof header) return none;
    memcpy(&header, image, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof section ||
        header.e_shoff > size || (size - header.e_shoff) / sizeof section < header.e_shnum ||
        header.e_shstrndx >= header.e_shnum)
        return none;
    memcpy(&names, image + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
    for (int i = 0; i < header.e_shnum; i++) {
        memcpy(&section, image + header.e_shoff + (size_t)i * sizeof section, sizeof section);
        if (section.sh_offset > size || section.sh_size > size - section.sh_offset) continue;
        size_t text = names.sh_offset + section.sh_name;
        int found =
            name ? text < size && strncmp(image + text, name, size - text) == 0 : section.sh_type == type;
        if (!found) continue;
        const unsigned char *at = (const unsigned char *)image + section.sh_offset;
        if (out) *out = section;
        return (cursor){at, at + section.sh_size};
    }
    return none;
}

/* ---- Lines ---- */

enum { MOST_FILES = 64 };

/* The registers of the line program's machine. */
typedef struct machine {
    uint64_t address;
    uint64_t file;
    int64_t line;
} machine;

/* The head of one unit of .debug_line. */
typedef struct unit {
    cursor program;
    int step, line_base, line_range, first_special;
    unsigned char operands[256];
    unsigned char is_kernel[MOST_FILES]; /* whether file number i is the kernel's */
} unit;

static int read_unit(cursor *section, const char *file, unit *u) {
    memset(u, 0, sizeof *u);
    uint64_t length = take(section, 4);
    if (length == 0 || length > (uint64_t)(section->end - section->at)) return 0;
    cursor c = {section->at, section->at + length};
    section->at += length;
    unsigned version = (unsigned)take(&c, 2);
    if (version < 2 || version > 4) return 0;
    uint64_t head = take(&c, 4);
    u->program = c;
    skip(&u->program, head);
    u->step = (int)take(&c, 1);
    if (version == 4) skip(&c, 1);
    skip(&c, 1);
    u->line_base = (signed char)take(&c, 1);
    u->line_range = (int)take(&c, 1);
    u->first_special = (int)take(&c, 1);
    for (int i = 1; i < u->first_special; i++) u->operands[i] = (unsigned char)take(&c, 1);
    while (c.at < c.end && *c.at) take_text(&c); /* directories */
    skip(&c, 1);
    for (int i = 1; c.at < c.end && *c.at; i++) {
        const char *name = take_text(&c);
        for (int j = 0; j < 3; j++) take_unsigned(&c);
        if (i < MOST_FILES) u->is_kernel[i] = strcmp(name, file) == 0;
    }
    return u->line_range > 0;
}

/* Adds a row, or with rows NULL only counts it. Lines of other files are left out: theirs is the row before.
 */
static void add_row(lines *out, const unit *u, const machine *m) {
    if (m->file >= MOST_FILES || !u->is_kernel[m->file]) return;
    if (out->rows) out->rows[out->count] = (lines_row){(uint32_t)m->address, (int)m->line};
    out->count++;
}

static void run_extended(cursor *c, machine *m) {
    uint64_t length = take_unsigned(c);
    cursor body = {c->at, c->at};
    skip(c, length);
    body.end = c->at;
    switch (take(&body, 1)) {
    case 1: *m = (machine){0, 1, 1}; break; /* end of a sequence */
    case 2: m->address = take(&body, 8); break;
    default: break;
    }
}

static void run_standard(cursor *c, unsigned code, const unit *u, machine *m, lines *out) {
    switch (code) {
    case 1: add_row(out, u, m); break;
    case 2: m->address += take_unsigned(c) * (unsigned)u->step; break;
    case 3: m->line += take_signed(c); break;
    case 4: m->file = take_unsigned(c); break;
    case 8: m->address += (uint64_t)((255 - u->first_special) / u->line_range * u->step); break;
    case 9: m->address += take(c, 2); break;
    default:
        for (int i = 0; i < u->operands[code]; i++) take_unsigned(c);
    }
}

static void run_program(const unit *u, lines *out) {
    machine m = {0, 1, 1};
    cursor c = u->program;
    while (c.at < c.end) {
        unsigned code = (unsigned)take(&c, 1);
        if (code == 0)
            run_extended(&c, &m);
        else if (code < (unsigned)u->first_special)
            run_standard(&c, code, u, &m, out);
        else {
            int special = (int)code - u->first_special;
            m.address += (uint64_t)(special / u->line_range * u->step);
            m.line += u->line_base + special % u->line_range;
            add_row(out, u, &m);
        }
    }
}

static void read_rows(const char *image, size_t size, const char *file, lines *out) {
    cursor section = find_section(image, size, ".debug_line", 0, NULL);
    unit u;
    out->count = 0;
    while (section.at < section.end && read_unit(&section, file, &u)) run_program(&u, out);
}

/* Rows come sorted but for sections of their own (cold code), so that few move far. */
static void sort_rows(lines *l) {
    for (int i = 1; i < l->count; i++) {
        lines_row row = l->rows[i];
        int j = i;
        for (; j > 0 && l->rows[j - 1].address > row.address; j--) l->rows[j] = l->rows[j - 1];
        l->rows[j] = row;
    }
}

/* ---- Names ---- */

static void read_names(const char *image, size_t size, uint64_t first, lines *out) {
    Elf64_Shdr section;
    cursor symbols = find_section(image, size, NULL, SHT_SYMTAB, &section);
    cursor texts = find_section(image, size, ".strtab", 0, NULL);
    out->name_count = 0;
    for (; (size_t)(symbols.end - symbols.at) >= sizeof(Elf64_Sym); symbols.at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_size == 0 || symbol.st_value < first ||
            symbol.st_name >= (uint64_t)(texts.end - texts.at))
            continue;
        if (out->names) {
            lines_name *name = &out->names[out->name_count];
            const char *text = (const char *)texts.at + symbol.st_name;
            *name = (lines_name){(uint32_t)(symbol.st_value - first), (uint32_t)symbol.st_size, ""};
            snprintf(name->name, sizeof name->name, "%.*s", (int)strcspn(text, "."), text);
        }
        out->name_count++;
    }
}

/* The __shared__ variables are what has no bytes in the file, .tbss; what comes before it is the module's
 * own. */
static uint64_t own_bytes(const char *image, size_t size) {
    Elf64_Shdr section;
    cursor own = find_section(image, size, ".tdata", 0, &section);
    return own.at ? section.sh_size : 0;
}

int lines_read(const char *image, size_t size, const char *file, lines *out) {
    memset(out, 0, sizeof *out);
    read_rows(image, size, file, out);
    read_names(image, size, own_bytes(image, size), out);
    out->rows = memory_alloc((size_t)out->count * sizeof *out->rows);
    out->names = memory_alloc((size_t)out->name_count * sizeof *out->names);
    if (!out->rows || !out->names) {
        lines_free(out);
        return 0;
    }
    read_rows(image, size, file, out);
    sort_rows(out);
    read_names(image, size, own_bytes(image, size), out);
    return 1;
}

void lines_free(lines *l) {
    memory_free(l->rows);
    memory_free(l->names);
    memset(l, 0, sizeof *l);
}

int lines_find(const lines *l, uint32_t address) {
    int low = 0, high = l->count; /* the first row at or after the address lies in [low, high] */
    while (low < high) {
        int middle = (low + high) / 2;
        if (l->rows[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? l->rows[low - 1].line : 0;
}

const lines_name *lines_find_name(const lines *l, uint32_t offset) {
    for (int i = 0; i < l->name_count; i++)
        if (offset - l->names[i].offset < l->names[i].size) return &l->names[i];
    return NULL;
}
