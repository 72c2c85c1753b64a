/* unit_cache.c: what the cache of compiled code promises of its entries: the data of the whole key or
 * nothing, whatever happens to the files and to the processes that use them. White-box: src/cache.h. */
#include "harness.h"
#include "unit_cache_aid.h"
#include "../src/cache.h"
#include "../src/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Keys and data ---- */

TEST(cache_gives_back_what_was_put) {
    scratch s;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    CHECK(!cache_holds("a", "1"), "an empty cache held something");
    cache_put("a", "data of a");
    cache_put("b", "data of b");
    cache_put("empty", "");
    CHECK(cache_holds("a", "data of a") && cache_holds("b", "data of b") && cache_holds("empty", ""),
          "an entry was not kept");
    cache_put("a", "data of a, again");
    CHECK(cache_holds("a", "data of a, again"), "an entry was not replaced");
    tess_cache_info info = cache_described();
    CHECK(info.entries == 3 && info.bytes > 3 && strcmp(info.directory, s.path) == 0 && !info.problem[0],
          "%lld entries, %lld bytes in '%s': '%s'", (long long)info.entries, (long long)info.bytes,
          info.directory, info.problem);
    scratch_leave(&s);
}

TEST(cache_tells_keys_apart_by_every_bit) {
    scratch s;
    char text[] = "The options, the source and the compiler's version", data[16];
    int bits = (int)(sizeof text - 1) * 7;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    for (int pass = 0; pass < 2; pass++) {
        for (int bit = 0; bit < bits; bit++) {
            text[bit / 7] ^= (char)(1 << bit % 7);
            snprintf(data, sizeof data, "%d", bit);
            cache_key key = {.stem = "kernel", .extension = "cubin", .text = text, .size = sizeof text};
            void *got;
            size_t size;
            if (pass == 0)
                cache_write(&key, data, strlen(data));
            else if (CHECK(cache_read(&key, &got, &size), "the entry of bit %d is gone", bit)) {
                CHECK(size == strlen(data) && memcmp(got, data, size) == 0, "bit %d gives the data of %.*s",
                      bit, (int)size, (char *)got);
                memory_free(got);
            }
            text[bit / 7] ^= (char)(1 << bit % 7);
        }
    }
    CHECK(cache_count(&s, "kernel-") == bits, "%d keys made %d entries", bits, cache_count(&s, "kernel-"));
    scratch_leave(&s);
}

/* Were two keys to hash alike, their entries would have one name: here one is put under the other's. */
TEST(cache_does_not_trust_the_hash) {
    scratch s;
    char one[512], away[512], two[512];
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_put("one", "data of one");
    cache_find(&s, "kernel-", one);
    snprintf(away, sizeof away, "%s/away", s.path);
    CHECK(rename(one, away) == 0, "%s could not be renamed", one);
    cache_put("two", "data of two");
    cache_find(&s, "kernel-", two);
    CHECK(rename(away, two) == 0 && cache_count(&s, "") == 1, "%s could not be renamed", away);
    CHECK(!cache_holds("two", "data of two"), "an entry was given to another key");
    cache_put("two", "data of two");
    CHECK(cache_holds("two", "data of two"), "not rebuilt");
    scratch_leave(&s);
}

/* ---- Damage ---- */

static size_t read_whole(const char *path, unsigned char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, room, file) : 0;
    if (file) fclose(file);
    return size;
}

static void write_whole(const char *path, const unsigned char *bytes, size_t size) {
    FILE *file = fopen(path, "r+b");
    CHECK(file && ftruncate(fileno(file), 0) == 0 && fwrite(bytes, 1, size, file) == size,
          "%s could not be written", path);
    if (file) fclose(file);
}

TEST(cache_rebuilds_damaged_entries) {
    scratch s;
    char path[512];
    unsigned char bytes[512];
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_put("the key", "the data of the key");
    cache_find(&s, "kernel-", path);
    size_t size = read_whole(path, bytes, sizeof bytes);
    CHECK(size > 20 && size < sizeof bytes, "the entry has %zu bytes", size);
    for (size_t at = 0; at < size; at++) {
        unsigned char flip = (unsigned char)(1u << at % 8);
        bytes[at] ^= flip;
        write_whole(path, bytes, size);
        bytes[at] ^= flip;
        CHECK(!cache_holds("the key", "the data of the key"), "byte %zu of %zu is wrong and nobody saw", at,
              size);
        cache_put("the key", "the data of the key");
        CHECK(cache_holds("the key", "the data of the key"), "not rebuilt after byte %zu was wrong", at);
    }
    for (size_t length = 0; length < size; length++) {
        write_whole(path, bytes, length);
        CHECK(!cache_holds("the key", "the data of the key"), "%zu bytes of %zu were taken", length, size);
    }
    bytes[size] = 0;
    write_whole(path, bytes, size + 1);
    CHECK(!cache_holds("the key", "the data of the key"), "an entry with a byte too many was taken");
    cache_put("the key", "the data of the key");
    CHECK(cache_holds("the key", "the data of the key"), "not rebuilt");
    scratch_leave(&s);
}

/* ---- Many processes, and their deaths ---- */

enum { PROCESSES = 8, ROUNDS = 60 };

/* Writes and reads entries that all processes share, and one of its own. */
static int use_cache(void *context) {
    const int *self = context;
    char *data = test_alloc(CACHE_LARGE + 1), key[32];
    for (int round = 0; round < ROUNDS; round++) {
        int number = round % 4 == 3 ? 100 + *self : round % 4;
        snprintf(key, sizeof key, "key %d", number);
        cache_fill_large(data, number);
        if (round / 4 % 2 == 0) cache_put(key, data);
        int there = cache_holds(key, data);
        if (!CHECK(there, "'%s' was put and is not there", key)) return 1;
    }
    free(data);
    return 0;
}

/* Many processes do that at once, each with the context, or its number if there is none; how many failed. */
static int fork_all(int (*body)(void *), void *context) {
    pid_t children[PROCESSES];
    int status, failed = 0;
    for (int i = 0; i < PROCESSES; i++)
        if ((children[i] = fork()) == 0) _exit(body(context ? context : &i));
    for (int i = 0; i < PROCESSES; i++) {
        waitpid(children[i], &status, 0);
        failed += status != 0;
    }
    return failed;
}

static int fork_users(void *unused) {
    (void)unused;
    return fork_all(use_cache, NULL);
}

TEST(cache_serves_many_processes_at_once) {
    scratch s;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_in_child(fork_users, NULL, 0);
    CHECK(cache_count(&s, ".tmp") == 0, "%d temporary files were left", cache_count(&s, ".tmp"));
    CHECK(cache_described().entries == PROCESSES + 3, "%lld entries", (long long)cache_described().entries);
    scratch_leave(&s);
}

TEST(cache_survives_kill_in_the_middle_of_writing) {
    scratch s;
    char *data = test_alloc(CACHE_LARGE + 1);
    int64_t removed = -1;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_fill_large(data, 5);
    for (sampling p = sampling_start(30, 200, 3.0); sampling_next(&p);) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            for (;;) cache_put("key", data);
        usleep((useconds_t)rng_range(test_random(), 0, 3000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        cache_holds("key", data);
    }
    cache_put("key", data);
    CHECK(cache_holds("key", data), "nothing can be kept any more");
    CHECK_STATUS(tess_clear_cache(&removed), TESS_OK, NULL);
    CHECK(removed == 1 && cache_count(&s, "") == 0, "%lld entries removed, %d files left", (long long)removed,
          cache_count(&s, ""));
    scratch_leave(&s);
    free(data);
}

/* ---- Turns ---- */

static cache_key turn_key(const char *text) {
    return (cache_key){.stem = "kernel", .extension = "cubin", .text = text, .size = strlen(text)};
}

/* What jit.c does: waits its turn, looks, and makes what is not there. Tells the pipe of it. */
static int make_in_turn(void *context) {
    const int *out = context;
    cache_key key = turn_key("slow");
    int turn = cache_begin(&key);
    if (!CHECK(turn >= 0, "there was no turn to be had")) return 1;
    if (!cache_holds("slow", "made")) {
        usleep(30000);
        cache_put("slow", "made");
        if (write(*out, "m", 1) != 1) return 1;
    }
    cache_end(&key, turn);
    return !cache_holds("slow", "made");
}

static int fork_makers(void *context) {
    return fork_all(make_in_turn, context);
}

TEST(cache_lets_one_make_what_many_want) {
    scratch s;
    int ends[2];
    char made[PROCESSES + 1];
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    if (!CHECK(pipe(ends) == 0, "no pipe")) return;
    cache_in_child(fork_makers, &ends[1], 0);
    close(ends[1]);
    ssize_t times = read(ends[0], made, sizeof made);
    close(ends[0]);
    CHECK(times == 1, "it was made %d times", (int)times);
    CHECK(cache_count(&s, ".tmp") == 0, "%d files were left", cache_count(&s, ".tmp"));
    scratch_leave(&s);
}

TEST(cache_turn_of_a_dead_process_is_free) {
    scratch s;
    char ready;
    int ends[2];
    cache_key key = turn_key("slow"), other = turn_key("other");
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    if (!CHECK(pipe(ends) == 0, "no pipe")) return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (cache_begin(&key) < 0 || write(ends[1], "r", 1) != 1) _exit(1);
        for (;;) pause();
    }
    CHECK(read(ends[0], &ready, 1) == 1, "the child did not begin");
    int turn = cache_begin(&other); /* would wait for a minute if it were the same */
    CHECK(turn >= 0, "another key had to wait");
    cache_end(&other, turn);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    turn = cache_begin(&key);
    CHECK(turn >= 0, "a dead process still has its turn");
    cache_end(&key, turn);
    close(ends[0]);
    close(ends[1]);
    scratch_leave(&s);
}

TEST(cache_without_a_directory_lets_everybody_go_on) {
    scratch s;
    cache_key key = turn_key("slow");
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    setenv("TESSERA_CACHE_DIR", "/dev/null/there", 1);
    int turn = cache_begin(&key);
    CHECK(turn < 0, "a turn in a directory that cannot be");
    cache_end(&key, turn);
    scratch_leave(&s);
}
