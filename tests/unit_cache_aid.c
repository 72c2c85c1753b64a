/* unit_cache_aid.c: putting, looking and forking, for the tests of the cache. */
#include "unit_cache_aid.h"

#include "harness.h"
#include "../src/cache.h"
#include "../src/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static cache_key key_of(const char *text) {
    return (cache_key){.stem = "kernel", .extension = "cubin", .text = text, .size = strlen(text)};
}

void cache_put(const char *key_text, const char *data) {
    cache_key key = key_of(key_text);
    cache_write(&key, data, strlen(data));
}

int cache_holds(const char *key_text, const char *data) {
    cache_key key = key_of(key_text);
    void *got;
    size_t size;
    if (!cache_read(&key, &got, &size)) return 0;
    int right =
        CHECK(size == strlen(data) && memcmp(got, data, size) == 0, "'%s' gave %zu bytes '%.*s' for '%.40s'",
              key_text, size, (int)(size < 40 ? size : 40), (char *)got, data);
    memory_free(got);
    return right;
}

int cache_find(const scratch *s, const char *part, char path[512]) {
    int count = 0;
    path[0] = '\0';
    DIR *list = opendir(s->path);
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] == '.' || !strstr(entry->d_name, part)) continue;
        snprintf(path, 512, "%s/%s", s->path, entry->d_name);
        count++;
    }
    if (list) closedir(list);
    return count;
}

int cache_count(const scratch *s, const char *part) {
    char path[512];
    return cache_find(s, part, path);
}

tess_cache_info cache_described(void) {
    tess_cache_info info;
    CHECK_STATUS(tess_describe_cache(&info), TESS_OK, NULL);
    return info;
}

void cache_in_child(int (*body)(void *), void *context, uid_t user) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (user && setuid(user) != 0) _exit(100);
        int result = body(context);
        fflush(stdout);
        _exit(result);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0, "the child ended with status %d (signal %d, exit code %d)", status, status & 127,
          status >> 8 & 255);
}

void cache_fill_large(char *data, int number) {
    for (int i = 0; i < CACHE_LARGE; i++) data[i] = (char)('a' + (i * 7 + number) % 26);
    data[CACHE_LARGE] = '\0';
}
