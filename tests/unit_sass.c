/* unit_sass.c: reading a cubin, which is an ELF file with a section of code for each kernel. */
#include "unit_sass.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "../src/cuda/library.h"
#include "../src/sim/module.h"

int sass_can_compare(void) {
    char why[256];
    const char *required = getenv("TESSERA_REQUIRE_NVRTC");
    int here = library_open(LIBRARY_NVRTC) != NULL;
    CHECK(here || !required || !required[0], "TESSERA_REQUIRE_NVRTC is set, but: %s",
          library_problem(LIBRARY_NVRTC));
    if (here && module_can_trace(why)) return 1;
    harness_skip("%s", here ? why : library_problem(LIBRARY_NVRTC));
    return 0;
}

/* An instruction is 16 bytes; bits 12 to 15 are the predicate it has, 15 (not true) for one that is never
 * executed. */
static int count_in(const unsigned char *code, uint64_t size, unsigned what) {
    int count = 0;
    for (uint64_t at = 0; at + 16 <= size; at += 16) {
        unsigned low = code[at] | (unsigned)code[at + 1] << 8;
        count += (low & 0xfffu) == what && low >> 12 != 0xfu;
    }
    return count;
}

int sass_count(const void *image, size_t size, unsigned what) {
    const unsigned char *bytes = image;
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    int count = 0;
    if (!CHECK(size > sizeof head, "a cubin of %zu bytes", size)) return 0;
    memcpy(&head, bytes, sizeof head);
    memcpy(&names, bytes + head.e_shoff + (size_t)head.e_shstrndx * head.e_shentsize, sizeof names);
    for (int i = 0; i < head.e_shnum; i++) {
        memcpy(&section, bytes + head.e_shoff + (size_t)i * head.e_shentsize, sizeof section);
        if (strncmp((const char *)bytes + names.sh_offset + section.sh_name, ".text.", 6) == 0)
            count += count_in(bytes + section.sh_offset, section.sh_size, what);
    }
    return count;
}
