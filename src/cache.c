/* cache.c: reading and writing entries.
 *
 * An entry is a header, the key and the data. It is written under another name and renamed when it is
 * whole, so that under its own name there is always a whole entry or none; a disk that lies about that is
 * found out by the checksum. */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cache_directory.h"
#include "memory.h"

typedef struct hash128 {
    uint64_t low, high;
} hash128;

typedef struct header {
    char magic[8];
    uint64_t key_size, data_size;
    hash128 key, data;
} header;

#define MAGIC "tess-01" /* changes with the format */
enum { LARGEST_ENTRY = 256 << 20, STALE_SECONDS = 3600, POLL_MS = 10, MOST_POLLS = 6000 };

/* ---- Hashing ---- */

/* Every bit of the result depends on every bit of x, and no two x give the same. */
static uint64_t mix(uint64_t x, uint64_t odd) {
    x ^= x >> 32;
    x *= odd;
    x ^= x >> 29;
    x *= odd;
    return x ^ x >> 32;
}

/* Two chains over the same words, with different multipliers and different ways of taking a word in. */
static hash128 hash_bytes(const void *bytes, size_t size) {
    hash128 h = {0x243f6a8885a308d3u ^ size, 0x13198a2e03707344u + size};
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + at, size - at < 8 ? size - at : 8);
        h.low = mix(h.low ^ word, 0xd6e8feb86659fd93u);
        h.high = mix(h.high + word, 0xff51afd7ed558ccdu);
    }
    return h;
}

static int same_hash(hash128 a, hash128 b) {
    return a.low == b.low && a.high == b.high;
}

static void print_name(const cache_key *key, char name[CACHE_NAME_SIZE]) {
    hash128 h = hash_bytes(key->text, key->size);
    snprintf(name, CACHE_NAME_SIZE, "%.64s-%016llx%016llx.%.8s", key->stem, (unsigned long long)h.high,
             (unsigned long long)h.low, key->extension);
}

/* ---- Reading ---- */

static int read_all(int file, void *to, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t got = read(file, (char *)to + have, size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        have += (size_t)got;
    }
    return 1;
}

/* Whether the header belongs to this key and to a file of this size. */
static int header_fits(const header *h, const cache_key *key, off_t size) {
    return memcmp(h->magic, MAGIC, sizeof h->magic) == 0 && h->key_size == key->size &&
           h->data_size <= LARGEST_ENTRY && (uint64_t)size == sizeof *h + h->key_size + h->data_size &&
           same_hash(h->key, hash_bytes(key->text, key->size));
}

/* The data behind the key, or NULL. */
static void *read_body(int file, const header *h, const cache_key *key) {
    char *stored = memory_alloc(key->size);
    int same = stored && read_all(file, stored, key->size) && memcmp(stored, key->text, key->size) == 0;
    memory_free(stored);
    size_t size = (size_t)h->data_size;
    void *data = same ? memory_alloc(size) : NULL;
    if (data && read_all(file, data, size) && same_hash(hash_bytes(data, size), h->data)) return data;
    memory_free(data);
    return NULL;
}

/* A pipe in an entry's place must not make us wait, nor a link lead elsewhere. */
static void *read_entry(int directory, const char *name, const cache_key *key, size_t *size) {
    struct stat facts;
    header h;
    void *data = NULL;
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return NULL;
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && !cache_distrust(&facts) &&
        read_all(file, &h, sizeof h) && header_fits(&h, key, facts.st_size)) {
        data = read_body(file, &h, key);
        *size = (size_t)h.data_size;
    }
    close(file);
    return data;
}

int cache_read(const cache_key *key, void **data, size_t *size) {
    char path[1024], problem[256], name[CACHE_NAME_SIZE];
    *data = NULL;
    int directory = cache_directory_open(0, path, problem);
    if (directory < 0) return 0;
    print_name(key, name);
    *data = read_entry(directory, name, key, size);
    close(directory);
    return *data != NULL;
}

/* ---- Writing ---- */

static int write_all(int file, const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = write(file, (const char *)from + done, size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return 0;
        done += (size_t)put;
    }
    return 1;
}

/* Beyond a limit on the size of files, write fails, but by default a signal ends the process first. It is
 * held back and, if it came, taken away. */
static int write_entry(int file, const header *h, const cache_key *key, const void *data) {
    sigset_t limit, before, pending;
    int ignored;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    int whole = write_all(file, h, sizeof *h) && write_all(file, key->text, key->size) &&
                write_all(file, data, (size_t)h->data_size);
    if (!whole && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1) sigwait(&limit, &ignored);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return whole;
}

/* A new file for this entry, under a name nobody else uses. */
static int create_temporary(int directory, const char *name, char temporary[CACHE_NAME_SIZE]) {
    static atomic_uint count;
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(temporary, CACHE_NAME_SIZE, "%.120s.%ld-%u.tmp", name, (long)getpid(),
                 atomic_fetch_add(&count, 1));
        int file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/* What a process that was killed while writing has left behind. */
static void remove_stale(int directory, const char *name, cache_file kind, const struct stat *facts,
                         void *context) {
    const time_t *now = context;
    if (kind == CACHE_TEMPORARY && S_ISREG(facts->st_mode) && facts->st_uid == geteuid() &&
        facts->st_mtime < *now - STALE_SECONDS)
        unlinkat(directory, name, 0);
}

/* Whether an entry of that name may be put there: there is none, or one of ours, whole or not. */
static int may_replace(int directory, const char *name) {
    struct stat facts;
    if (fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
    return S_ISREG(facts.st_mode) && !cache_distrust(&facts);
}

static void replace_entry(int directory, const char *name, const header *h, const cache_key *key,
                          const void *data) {
    char temporary[CACHE_NAME_SIZE];
    int file = create_temporary(directory, name, temporary);
    if (file < 0) return;
    int whole = write_entry(file, h, key, data);
    if (close(file) != 0 || !whole || renameat(directory, temporary, directory, name) != 0)
        unlinkat(directory, temporary, 0);
}

void cache_write(const cache_key *key, const void *data, size_t size) {
    char path[1024], problem[256], name[CACHE_NAME_SIZE];
    if (size > LARGEST_ENTRY) return;
    int directory = cache_directory_open(1, path, problem);
    if (directory < 0) return;
    time_t now = time(NULL);
    header h = {.magic = MAGIC,
                .key_size = key->size,
                .data_size = size,
                .key = hash_bytes(key->text, key->size),
                .data = hash_bytes(data, size)};
    cache_directory_walk(directory, remove_stale, &now);
    print_name(key, name);
    if (may_replace(directory, name)) replace_entry(directory, name, &h, key, data);
    close(directory);
}

/* ---- Taking turns ---- */

/* A file that is locked, and not there before or afterwards. By its name it is a temporary one, so that what a process leaves
 * that is killed is removed some day; its lock goes with the process. */
static void print_turn(const cache_key *key, char name[CACHE_NAME_SIZE]) {
    char entry[CACHE_NAME_SIZE];
    print_name(key, entry);
    snprintf(name, CACHE_NAME_SIZE, "%.120s.0.tmp", entry);
}

int cache_begin(const cache_key *key) {
    char path[1024], problem[256], name[CACHE_NAME_SIZE];
    int directory = cache_directory_open(1, path, problem);
    if (directory < 0) return -1;
    print_turn(key, name);
    int file = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    close(directory);
    const struct timespec pause = {0, POLL_MS * 1000000};
    for (int polls = 0; file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0; polls++) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || polls == MOST_POLLS) {
            close(file);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return file;
}

/* Somebody who waits for the file has it open; who comes now makes a new one, and finds the entry. A child that was forked
 * meanwhile has it open too, so closing it would not be enough. */
void cache_end(const cache_key *key, int turn) {
    char path[1024], problem[256], name[CACHE_NAME_SIZE];
    if (turn < 0) return;
    int directory = cache_directory_open(0, path, problem);
    print_turn(key, name);
    if (directory >= 0) {
        unlinkat(directory, name, 0);
        close(directory);
    }
    flock(turn, LOCK_UN);
    close(turn);
}
