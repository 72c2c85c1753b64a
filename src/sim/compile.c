/* compile.c: a directory of our own, the files in it, a child process, and what it made. Nothing is left
 * behind. */
#include "compile.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../memory.h"

extern char **environ;

enum { MOST_ARGUMENTS = 64, LOG_SHOWN = 700, PATH_SIZE = 512 };
#define OBJECT "module.so"
#define LOG    "log"

const char *compile_find(const char *const *compilers, char path[1024]) {
    const char *search = getenv("PATH");
    for (int i = 0; compilers[i]; i++)
        for (const char *at = search ? search : "/usr/bin:/bin"; *at;) {
            size_t length = strcspn(at, ":");
            snprintf(path, 1024, "%.*s/%s", (int)length, at, compilers[i]);
            if (length > 0 && access(path, X_OK) == 0) return path;
            at += length + (at[length] == ':');
        }
    return NULL;
}

static tess_status write_file(const char *directory, const compile_file *file, sentence *why) {
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", directory, file->name);
    int handle = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t size = strlen(file->text), done = 0;
    while (handle >= 0 && done < size) {
        ssize_t more = write(handle, file->text + done, size - done);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        done += (size_t)more;
    }
    if (handle >= 0) close(handle);
    if (handle >= 0 && done == size) return TESS_OK;
    return status_fail(why, TESS_ERROR_KERNEL, "%s could not be written (%s); a kernel is compiled there",
                       path, strerror(errno));
}

/* The whole file, with a zero byte behind it; NULL if it is not there. */
static char *read_file(const char *directory, const char *name, size_t *size) {
    char path[PATH_SIZE + 64];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t have = 0;
    if (handle >= 0 && fstat(handle, &facts) == 0) text = memory_alloc((size_t)facts.st_size + 1);
    while (text && have < (size_t)facts.st_size) {
        ssize_t more = read(handle, text + have, (size_t)facts.st_size - have);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        have += (size_t)more;
    }
    if (handle >= 0) close(handle);
    if (text) text[have] = '\0';
    *size = have;
    return text;
}

static void remove_files(const char *directory, const compile_file *files) {
    char path[PATH_SIZE + 64];
    for (int i = 0; files[i].name; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/" OBJECT, directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/" LOG, directory);
    unlink(path);
    rmdir(directory);
}

/* Starts the compiler and waits for it. Returns whether it said that all went well. */
static int run_compiler(const char *compiler, char **arguments, const char *log) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int state = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) return 0;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed = posix_spawn(&child, compiler, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return 0;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return 1; /* a program that ignores its children: the object says how it went */
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/* Takes "directory/" out of the text: nobody knows the file by that name. */
static void remove_all(char *text, const char *directory) {
    size_t length = strlen(directory) + 1;
    for (char *at = text; (at = strstr(at, directory)) != NULL && at[length - 1] == '/';)
        memmove(at, at + length, strlen(at + length) + 1);
}

static tess_status compile_in(const char *directory, const char *compiler, const char *const *options,
                              const compile_file *files, char **image, size_t *size, sentence *why) {
    char main_file[PATH_SIZE + 64], before[PATH_SIZE + 64], object[PATH_SIZE + 64], log[PATH_SIZE + 64],
        include[PATH_SIZE + 64], names[PATH_SIZE + 64];
    char *arguments[MOST_ARGUMENTS + 16];
    int count = 0;
    snprintf(main_file, sizeof main_file, "%s/%s", directory, files[0].name);
    snprintf(before, sizeof before, "%s/%s", directory, files[1].name);
    snprintf(object, sizeof object, "%s/" OBJECT, directory);
    snprintf(log, sizeof log, "%s/" LOG, directory);
    snprintf(include, sizeof include, "-I%s", directory);
    snprintf(names, sizeof names, "-ffile-prefix-map=%s/=", directory);
    arguments[count++] = (char *)(uintptr_t)compiler;
    for (int i = 0; options[i] && i < MOST_ARGUMENTS; i++) arguments[count++] = (char *)(uintptr_t)options[i];
    char *const rest[] = {include,   names, "-include", before, "-x", "c",
                          main_file, "-o",  object,     "-lm",  NULL};
    for (int i = 0; rest[i]; i++) arguments[count++] = rest[i];
    arguments[count] = NULL;
    size_t said_size;
    int good = run_compiler(compiler, arguments, log);
    *image = good ? read_file(directory, OBJECT, size) : NULL;
    if (*image && *size > 0) return TESS_OK;
    memory_free(*image);
    *image = NULL;
    char *said = read_file(directory, LOG, &said_size);
    if (said) remove_all(said, directory);
    tess_status status = status_fail(why, TESS_ERROR_KERNEL, "%s did not compile %s: %.*s", compiler,
                                     files[0].name, LOG_SHOWN, said && said[0] ? said : "it said nothing");
    memory_free(said);
    return status;
}

tess_status compile_shared(const char *const *compilers, const char *const *options,
                           const compile_file *files, char **image, size_t *size, sentence *why) {
    char compiler[1024], directory[PATH_SIZE];
    const char *place = getenv("TMPDIR");
    *image = NULL;
    if (!compile_find(compilers, compiler))
        return status_fail(why, TESS_ERROR_KERNEL,
                           "%s must be compiled, and there is no C compiler: %s is not on the PATH",
                           files[0].name, compilers[0]);
    snprintf(directory, sizeof directory, "%.400s/tessera-XXXXXX", place && place[0] ? place : "/tmp");
    if (!mkdtemp(directory))
        return status_fail(why, TESS_ERROR_KERNEL,
                           "no directory for compiling could be made at %s (%s); TMPDIR names another place",
                           directory, strerror(errno));
    tess_status status = TESS_OK;
    for (int i = 0; status == TESS_OK && files[i].name; i++) status = write_file(directory, &files[i], why);
    if (status == TESS_OK) status = compile_in(directory, compiler, options, files, image, size, why);
    remove_files(directory, files);
    return status;
}
