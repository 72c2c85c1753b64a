/* multiply_output.c: writes a file aside and names it when it is whole.
 *
 * Invariant: until multiply_output_publish the file at the user's path is as it was. What is written aside has
 * no name at all where the system can do that (O_TMPFILE), so that nothing is left even by a crash; elsewhere
 * its name is in `unfinished`, and whatever ends the program removes it.
 */
#include "multiply_output.h"
#include "interrupt.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the signal handler needs: a name in a directory, or "". */
static char unfinished[40];
static int unfinished_directory;
static void (*remember)(int);
static volatile sig_atomic_t remembered;
static bool on_terminal;

static void remove_unfinished(void) {
    if (unfinished[0] != '\0') unlinkat(unfinished_directory, unfinished, 0);
    unfinished[0] = '\0';
}

/* The first Ctrl-C goes to interrupt.c; what ends the program at once comes through here first. */
static void end_cleanly(int signal_number) {
    if ((signal_number == SIGINT || signal_number == SIGTERM) && !remembered && remember != NULL) {
        remembered = 1;
        remember(signal_number);
        return;
    }
    remove_unfinished();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A mapped file that is cut short, or a disk that fails, ends in this signal. */
static void end_on_lost_file(int signal_number) {
    static const char text[] = "\ntessera: an input was cut short or a disk failed while it was in use; "
                               "nothing was written\n";
    (void)signal_number;
    remove_unfinished();
    ssize_t ignored = on_terminal ? write(STDERR_FILENO, text, sizeof text - 1)
                                  : write(STDERR_FILENO, text + 1, sizeof text - 2);
    (void)ignored;
    _exit(EXIT_CHECK);
}

static void watch_signals(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction ours = {.sa_handler = end_cleanly, .sa_flags = SA_RESTART}, before;
    sigemptyset(&ours.sa_mask);
    on_terminal = isatty(STDERR_FILENO);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        sigaction(ending[i], NULL, &before);
        if (before.sa_handler == SIG_IGN) continue;
        if (before.sa_handler != SIG_DFL) remember = before.sa_handler;
        sigaction(ending[i], &ours, NULL);
    }
    ours.sa_handler = end_on_lost_file;
    sigaction(SIGBUS, &ours, NULL);
}

static bool could_not(const multiply_output *out, const char *why) {
    say_error("could not write '%s': %s", out->path, why);
    return false;
}

/* Looks at what is there already. A link is followed, so that it still leads to the result afterwards. */
static bool examine(multiply_output *out, char target[PATH_MAX]) {
    struct stat facts;
    if (out->path[0] == '\0') return could_not(out, "a file needs a name");
    if (realpath(out->path, target) == NULL) {
        if (errno != ENOENT) return could_not(out, strerror(errno));
        if (lstat(out->path, &facts) == 0) return could_not(out, "it is a link that leads nowhere");
        if (strlen(out->path) >= PATH_MAX) return could_not(out, strerror(ENAMETOOLONG));
        if (out->path[strlen(out->path) - 1] == '/') return could_not(out, strerror(EISDIR));
        strcpy(target, out->path);
        return true;
    }
    if (stat(target, &facts) != 0) return could_not(out, strerror(errno));
    if (S_ISDIR(facts.st_mode)) return could_not(out, "it is a directory");
    if (!S_ISREG(facts.st_mode)) return could_not(out, "it exists and is not a regular file");
    if (access(target, W_OK) != 0) return could_not(out, strerror(errno));
    out->exists = true;
    out->device = facts.st_dev;
    out->inode = facts.st_ino;
    out->mode = facts.st_mode & 0777;
    return true;
}

bool multiply_output_open(multiply_output *out, const char *path) {
    char target[PATH_MAX], copy[PATH_MAX];
    *out = (multiply_output){.path = path, .directory = -1, .file = -1};
    if (!examine(out, target)) return false;
    strcpy(copy, target);
    const char *name = basename(copy);
    if (strlen(name) > NAME_MAX) return could_not(out, strerror(ENAMETOOLONG));
    strcpy(out->name, name);
    out->directory = open(dirname(target), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->directory < 0 || faccessat(out->directory, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return could_not(out, strerror(errno));
    return true;
}

/* A name nobody has; kept where the signal handler finds it before it is used. */
static void draw_name(const multiply_output *out) {
    char name[sizeof unfinished];
    unsigned long long bits = 0;
    if (getrandom(&bits, sizeof bits, 0) < 0) bits = (unsigned long long)getpid();
    snprintf(name, sizeof name, ".tessera-%016llx", bits);
    unfinished_directory = out->directory;
    strcpy(unfinished, name);
}

static void proc_name(int file, char name[40]) {
    snprintf(name, 40, "/proc/self/fd/%d", file);
}

/* A file without a name, if it can be given one later: that goes by way of /proc. */
static int open_nameless(const multiply_output *out) {
    char name[40];
    int file = openat(out->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file < 0) return -1;
    proc_name(file, name);
    if (access(name, F_OK) == 0) return file;
    close(file);
    return -1;
}

static int open_aside(const multiply_output *out) {
    int file = open_nameless(out);
    if (file >= 0) return file;
    draw_name(out);
    file = openat(out->directory, unfinished, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (file < 0) unfinished[0] = '\0';
    return file;
}

/* On the disk now, so that a full one is an error here and not a signal in the middle of the product. */
static int reserve(int file, size_t size) {
    int error;
    do error = posix_fallocate(file, 0, (off_t)size);
    while (error == EINTR && !interrupt_came());
    return error;
}

bool multiply_output_create(multiply_output *out, size_t size) {
    char why[160];
    watch_signals();
    out->file = open_aside(out);
    if (out->file < 0) return could_not(out, strerror(errno));
    int error = reserve(out->file, size);
    if (error != 0) {
        snprintf(why, sizeof why, "%s (it needs %.1f MB)", strerror(error), (double)size / 1e6);
        return could_not(out, why);
    }
    if (out->exists) (void)fchmod(out->file, out->mode);
    out->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, out->file, 0);
    if (out->map == MAP_FAILED) {
        out->map = NULL;
        return could_not(out, strerror(errno));
    }
    out->size = size;
    return true;
}

bool multiply_output_sync(multiply_output *out) {
    /* EINVAL: a file system that has nothing to sync. */
    if (fsync(out->file) == 0 || errno == EINVAL) return true;
    return could_not(out, strerror(errno));
}

/* Gives a nameless file `name`. */
static bool link_as(const multiply_output *out, const char *name) {
    char source[40];
    proc_name(out->file, source);
    return linkat(AT_FDCWD, source, out->directory, name, AT_SYMLINK_FOLLOW) == 0;
}

bool multiply_output_publish(multiply_output *out) {
    if (unfinished[0] == '\0') {
        /* A new file gets its name in one step; only an old one must be replaced by renaming. */
        if (!out->exists && link_as(out, out->name)) return true;
        draw_name(out);
        if (!link_as(out, unfinished)) return could_not(out, strerror(errno));
    }
    if (renameat(out->directory, unfinished, out->directory, out->name) != 0)
        return could_not(out, strerror(errno));
    unfinished[0] = '\0';
    return true;
}

void multiply_output_close(multiply_output *out) {
    remove_unfinished();
    if (out->map != NULL) munmap(out->map, out->size);
    if (out->file >= 0) close(out->file);
    if (out->directory >= 0) close(out->directory);
    *out = (multiply_output){.path = out->path, .directory = -1, .file = -1};
}
