/* multiply_input.c: opens, maps and, where it must, converts a .npy file.
 *
 * Invariant: the file is never written to, and no more of it is touched than its size at opening; if it is cut
 * short later, the system's signal is answered in multiply_output.c.
 */
#include "multiply_input.h"
#include "interrupt.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "not a regular file";
}

static bool map_file(multiply_input *in, int fd) {
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        say_error("could not read '%s': %s", in->path, strerror(errno));
        return false;
    }
    if (!S_ISREG(facts.st_mode)) {
        say_error("could not read '%s': it is %s; multiply maps regular files", in->path,
                  kind_of(facts.st_mode));
        return false;
    }
    in->device = facts.st_dev;
    in->inode = facts.st_ino;
    if (facts.st_size == 0) {
        say_error("could not read '%s': it is empty", in->path);
        return false;
    }
    void *map = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        say_error("could not map '%s': %s", in->path, strerror(errno));
        return false;
    }
    in->map = map;
    in->map_size = (size_t)facts.st_size;
    return true;
}

bool multiply_input_open(multiply_input *in, const char *path) {
    char why[256];
    *in = (multiply_input){.path = path};
    /* Not blocking: opening a pipe would wait for somebody to write. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        say_error("could not open '%s': %s", path, strerror(errno));
        return false;
    }
    bool mapped = map_file(in, fd);
    close(fd);
    if (!mapped) return false;
    if (npy_parse(in->map, in->map_size, &in->header, why, sizeof why)) return true;
    say_error("could not read '%s': %s", path, why);
    return false;
}

static void swap_items(unsigned char *to, const unsigned char *from, size_t bytes, size_t item) {
    for (size_t i = 0; i < bytes; i += item)
        for (size_t j = 0; j < item; j++) to[i + j] = from[i + item - 1 - j];
}

bool multiply_input_load(multiply_input *in) {
    enum { CHUNK = 1 << 24 }; /* an interrupt is answered within one of these */
    const npy_header *h = &in->header;
    unsigned char *from = (unsigned char *)in->map + h->data_offset;
    if (h->data_size == 0) return true; /* nothing, wherever it would begin */
    if (!h->swapped && h->data_offset % h->item_size == 0) {
        in->data = from;
        return true;
    }
    void *copy = mmap(NULL, h->data_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        say_error("there is no memory to convert '%s' to this machine's byte order", in->path);
        return false;
    }
    in->copy = in->data = copy;
    in->copy_size = h->data_size;
    for (size_t at = 0; at < h->data_size; at += CHUNK) {
        size_t bytes = h->data_size - at < CHUNK ? h->data_size - at : CHUNK;
        if (interrupt_came()) return false;
        if (h->swapped)
            swap_items((unsigned char *)copy + at, from + at, bytes, h->item_size);
        else
            memcpy((unsigned char *)copy + at, from + at, bytes);
    }
    return true;
}

void multiply_input_close(multiply_input *in) {
    if (in->map != NULL) munmap(in->map, in->map_size);
    if (in->copy != NULL) munmap(in->copy, in->copy_size);
    *in = (multiply_input){.path = in->path};
}
