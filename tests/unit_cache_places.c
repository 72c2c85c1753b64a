/* unit_cache_places.c: where the cache lies, whom it trusts, and how it does without what it cannot have. */
#include "harness.h"
#include "unit_cache_aid.h"
#include "../src/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* ---- Files and directories that are not to be trusted ---- */

/* The entry of "key" is neither read nor replaced, and the description says so. */
static void check_refused(const scratch *s, const char *what, const char *said) {
    struct stat before, after;
    char path[512];
    cache_find(s, "kernel-", path);
    CHECK(lstat(path, &before) == 0, "there is no entry");
    CHECK(!cache_holds("key", "data"), "%s was read", what);
    cache_put("key", "data");
    CHECK(lstat(path, &after) == 0 && before.st_ino == after.st_ino && before.st_size == after.st_size,
          "%s was replaced", what);
    CHECK(cache_count(s, "") == 1, "beside %s there are now %d files", what, cache_count(s, "") - 1);
    CHECK(strstr(cache_described().problem, said), "of %s it is said: '%s'", what, cache_described().problem);
}

TEST(cache_refuses_entries_others_can_write) {
    static const mode_t modes[] = {0620, 0602, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        scratch s;
        char path[512];
        scratch_enter(&s, "TESSERA_CACHE_DIR");
        cache_put("key", "data");
        cache_find(&s, "kernel-", path);
        CHECK(chmod(path, modes[i]) == 0, "chmod");
        check_refused(&s, "a file that others can write", "can be written by others");
        scratch_leave(&s);
    }
}

TEST(cache_refuses_entries_of_other_users) {
    scratch s;
    char path[512];
    if (geteuid() != 0) {
        harness_skip("only root can give a file away");
        return;
    }
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_put("key", "data");
    cache_find(&s, "kernel-", path);
    CHECK(chown(path, NOBODY, NOBODY) == 0, "chown: %s", strerror(errno));
    check_refused(&s, "another user's file", "belongs to another user");
    int64_t removed = -1;
    CHECK_STATUS(tess_clear_cache(&removed), TESS_OK, NULL);
    CHECK(removed == 0 && cache_count(&s, "") == 1, "another user's file was removed");
    CHECK(chown(s.path, NOBODY, NOBODY) == 0, "chown: %s", strerror(errno));
    CHECK(strstr(cache_described().problem, "belongs to another user"), "'%s'", cache_described().problem);
    CHECK_STATUS(tess_clear_cache(&removed), TESS_ERROR_ARGUMENT, NULL);
    cache_put("other", "data");
    CHECK(cache_count(&s, "") == 1 && !cache_holds("other", "data"), "another user's directory was used");
    scratch_leave(&s);
}

TEST(cache_refuses_a_directory_others_can_write) {
    scratch s;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_put("key", "data");
    CHECK(chmod(s.path, 0770) == 0, "chmod");
    CHECK(!cache_holds("key", "data"), "an entry was read from it");
    cache_put("other", "data");
    CHECK(cache_count(&s, "") == 1, "an entry was written to it");
    CHECK(strstr(cache_described().problem, "can be written by others"), "'%s'", cache_described().problem);
    CHECK_STATUS(tess_clear_cache(NULL), TESS_ERROR_ARGUMENT, NULL);
    CHECK(strstr(tess_error(NULL), s.path), "%s", tess_error(NULL));
    CHECK(chmod(s.path, 0755) == 0 && cache_holds("key", "data"), "one that others can only read is fine");
    scratch_leave(&s);
}

TEST(cache_follows_no_links_and_waits_for_no_pipes) {
    scratch s, elsewhere;
    char path[512], target[512];
    scratch_enter(&elsewhere, "TESSERA_CACHE_DIR");
    cache_put("key", "data");
    cache_find(&elsewhere, "kernel-", target);
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    snprintf(path, sizeof path, "%s%s", s.path, strrchr(target, '/'));
    CHECK(symlink(target, path) == 0, "symlink");
    check_refused(&s, "a link", "is no regular file");
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0, "mkfifo");
    check_refused(&s, "a pipe", "is no regular file");
    scratch_leave(&s);
    CHECK(cache_holds("key", "data"), "what the link pointed to has changed");
    scratch_leave(&elsewhere);
}

/* ---- Directories that cannot be used ---- */

static int use_read_only(void *unused) {
    (void)unused;
    CHECK(cache_holds("key", "data"), "a directory that can only be read is not read");
    cache_put("other", "data");
    CHECK(!cache_holds("other", "data"), "an entry was put into it");
    CHECK(strstr(cache_described().problem, "nothing new is kept"), "'%s'", cache_described().problem);
    return !(cache_holds("key", "data") && !cache_holds("other", "data") && cache_described().problem[0]);
}

/* Root may write anywhere, so that it becomes nobody for this. */
TEST(cache_does_without_a_directory_it_may_not_write) {
    scratch s;
    char path[512];
    uid_t other = geteuid() == 0 ? NOBODY : 0;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_put("key", "data");
    cache_find(&s, "kernel-", path);
    CHECK(!other || (chown(path, other, other) == 0 && chown(s.path, other, other) == 0), "chown");
    CHECK(chmod(s.path, 0500) == 0, "chmod");
    cache_in_child(use_read_only, NULL, other);
    scratch_leave(&s);
}

TEST(cache_does_without_a_directory_that_cannot_be) {
    scratch s;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    setenv("TESSERA_CACHE_DIR", "/dev/null/cache", 1);
    cache_put("key", "data");
    CHECK(!cache_holds("key", "data"), "an entry was kept");
    tess_cache_info info = cache_described();
    CHECK(strstr(info.problem, strerror(ENOTDIR)) && strcmp(info.directory, "/dev/null/cache") == 0,
          "'%s' in '%s'", info.problem, info.directory);
    scratch_leave(&s);
}

/* A limit on the size of files is the full disk that a test can have. The signal's default is to kill. */
static int use_full_disk(void *context) {
    const int *ignore = context;
    struct rlimit limit = {CACHE_LARGE / 2, CACHE_LARGE / 2};
    char *data = test_alloc(CACHE_LARGE + 1);
    sigset_t pending;
    cache_fill_large(data, 1);
    if (*ignore) signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    cache_put("key", data);
    int there = cache_holds("key", data);
    sigpending(&pending);
    cache_put("small", "data");
    free(data);
    return there || sigismember(&pending, SIGXFSZ) || !cache_holds("small", "data");
}

TEST(cache_does_without_room_on_the_disk) {
    for (int ignore = 0; ignore < 2; ignore++) {
        scratch s;
        scratch_enter(&s, "TESSERA_CACHE_DIR");
        cache_in_child(use_full_disk, &ignore, 0);
        CHECK(cache_count(&s, "") == 1, "%d files, and one would have been small enough",
              cache_count(&s, ""));
        scratch_leave(&s);
    }
}

TEST(cache_does_without_memory) {
    scratch s;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_put("key", "data");
    int64_t live = memory_live();
    for (int n = 0; n < 8; n++) {
        memory_fail_after(n);
        int there = cache_holds("key", "data");
        memory_fail_after(-1);
        CHECK(memory_live() == live, "%lld blocks leak when allocation %d fails",
              (long long)(memory_live() - live), n);
        CHECK(there || n < 2, "two allocations were to be had, and nothing was read");
    }
    scratch_leave(&s);
}

/* ---- Where it is ---- */

static int look_in_places(void *context) {
    const char *home = context;
    char wanted[512];
    unsetenv("TESSERA_CACHE_DIR");
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    CHECK(cache_described().directory[0] == '\0' && strstr(cache_described().problem, "HOME"), "'%s', '%s'",
          cache_described().directory, cache_described().problem);
    cache_put("key", "data");
    int good = !cache_holds("key", "data");
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    snprintf(wanted, sizeof wanted, "%s/.cache/tessera", home);
    CHECK(strcmp(cache_described().directory, wanted) == 0, "'%s' is not '%s'", cache_described().directory,
          wanted);
    cache_put("key", "data");
    good = good && cache_holds("key", "data");
    struct stat facts;
    good = good && stat(wanted, &facts) == 0 && (facts.st_mode & 0777) == 0700;
    snprintf(wanted, sizeof wanted, "%s/xdg", home);
    setenv("XDG_CACHE_HOME", wanted, 1);
    cache_put("key", "data");
    strcat(wanted, "/tessera");
    CHECK(strcmp(cache_described().directory, wanted) == 0, "'%s' is not '%s'", cache_described().directory,
          wanted);
    return !(good && strcmp(cache_described().directory, wanted) == 0 && cache_described().entries == 1);
}

TEST(cache_lies_where_the_environment_says) {
    scratch s;
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    cache_in_child(look_in_places, s.path, 0);
    scratch_leave(&s);
}

/* ---- Clearing ---- */

TEST(cache_clear_removes_its_own_files_only) {
    static const char *const strangers[] = {"notes.txt",
                                            "kernel.cubin",
                                            "kernel-0123456789abcdef.cubin",
                                            "kernel-0123456789abcdef0123456789abcdef",
                                            "kernel.tmp",
                                            "kernel-0123456789abcdef0123456789abcdeg.cubin",
                                            "kernel-0123456789abcdef0123456789abcdef.cubin.old"};
    enum { STRANGERS = sizeof strangers / sizeof strangers[0] };
    scratch s;
    int64_t removed = -1;
    char path[512];
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    for (int i = 0; i < STRANGERS; i++) scratch_write(&s, strangers[i], "mine", 4);
    scratch_write(&s, "kernel-0123456789abcdef0123456789abcdef.cubin.123-4.tmp", "cut off", 7);
    snprintf(path, sizeof path, "%s/kernel-0123456789abcdef0123456789abcdee.cubin", s.path);
    CHECK(mkdir(path, 0700) == 0, "mkdir");
    cache_put("a", "1");
    cache_put("b", "2");
    CHECK_STATUS(tess_clear_cache(&removed), TESS_OK, NULL);
    CHECK(removed == 2, "%lld entries were removed", (long long)removed);
    CHECK(cache_count(&s, "") == STRANGERS + 1, "of %d files that are not the cache's %d are left",
          STRANGERS + 1, cache_count(&s, ""));
    CHECK(!cache_holds("a", "1") && !cache_holds("b", "2"), "an entry is still there");
    CHECK_STATUS(tess_clear_cache(NULL), TESS_OK, NULL);
    snprintf(path, sizeof path, "%s/none", s.path);
    setenv("TESSERA_CACHE_DIR", path, 1);
    CHECK_STATUS(tess_clear_cache(&removed), TESS_OK, NULL);
    CHECK(removed == 0 && access(path, F_OK) != 0, "clearing made a directory");
    scratch_leave(&s);
}

/* Files that a killed process left are swept away by the next that writes, once they are old. */
TEST(cache_removes_stale_temporary_files) {
    static const char name[] = "kernel-0123456789abcdef0123456789abcdef.cubin.123-4.tmp";
    scratch s;
    char path[512];
    struct timespec old[2] = {{time(NULL) - 7200, 0}, {time(NULL) - 7200, 0}};
    scratch_enter(&s, "TESSERA_CACHE_DIR");
    scratch_write(&s, name, "cut off", 7);
    cache_put("a", "1");
    CHECK(cache_count(&s, ".tmp") == 1, "a young temporary file may be somebody's");
    snprintf(path, sizeof path, "%s/%s", s.path, name);
    CHECK(utimensat(AT_FDCWD, path, old, 0) == 0, "utimensat");
    cache_put("b", "2");
    CHECK(cache_count(&s, ".tmp") == 0, "an old one is still there");
    scratch_leave(&s);
}
