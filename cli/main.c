/* main.c: finds the command somebody asked for.
 *
 * Invariant: a command is one row of `commands`; help, suggestions and the overview are made from the rows.
 */
#include "commands.h"
#include "environment.h"
#include "nearest.h"
#include "say.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const command commands[] = {
    {&devices_spec, devices_run}, {&list_spec, list_run},         {&bench_spec, bench_run},
    {&compare_spec, compare_run}, {&verify_spec, verify_run},     {&explain_spec, explain_run},
    {&report_spec, report_run},   {&multiply_spec, multiply_run}, {&cache_spec, cache_run},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const command *find_command(const char *name) {
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].spec->command, name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *word) {
    const char *names[COMMANDS + 1];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i].spec->command;
    names[COMMANDS] = "help";
    int near = nearest_name(word, names, COMMANDS + 1);
    if (near >= 0) return say_usage("there is no command '%s'; did you mean '%s'?", word, names[near]);
    return say_usage("there is no command '%s'; 'tessera help' lists them", word);
}

static int print_version(void) {
    printf("tessera %s (%s)\n", TESS_VERSION_STRING, environment_revision());
    if (strcmp(tess_version(), TESS_VERSION_STRING) != 0) printf("library %s\n", tess_version());
    return EXIT_FINE;
}

static int print_help(void) {
    printf("tessera COMMAND [WORD...] [OPTION...]\n\n"
           "Matrix multiplication, C = alpha*A*B + beta*C: a ladder of kernels, measured and checked.\n\n"
           "Commands\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i].spec->command, commands[i].spec->summary);
    printf("  %-10s %s\n", "help", "This text, or the help of a command: tessera help bench");
    printf(
        "\n'tessera' alone shows what was found on this machine; 'tessera --version' prints the version.\n\n"
        "Exit status\n  0    fine\n"
        "  1    a check failed, nothing matched, or a run could not be made\n"
        "  2    the command line was wrong\n"
        "  130  interrupted (Ctrl-C); rows measured until then are printed\n\n"
        "Environment\n  TESSERA_DEVICE        the device when --device is not given\n"
        "  TESSERA_NUM_THREADS   threads of a product (else OMP_NUM_THREADS, else one per CPU)\n"
        "  TESSERA_CPU_ISA       a lesser instruction set of the CPU, to test or compare it\n"
        "  TESSERA_PEER          the peer of bench on a CPU when --peer is not given\n"
        "  TESSERA_CACHE_DIR     where compiled kernels are kept (else $XDG_CACHE_HOME/tessera, else\n"
        "                        ~/.cache/tessera)\n"
        "  TESSERA_KERNEL_DIR    a directory with the kernels of a GPU, to run them as edited there\n"
        "  TESSERA_SIM_ARCH      the architecture whose limits the simulator keeps: 60 ... 120; else 90\n"
        "  TESSERA_LIBRARY_PATH  the only directories to look for CUDA's libraries in, with colons between\n"
        "  TESSERA_SPLIT         0: the planner never splits f32 into parts for tensor cores\n"
        "  TESSERA_VERBOSE       1: progress as plain lines, and why each kernel was planned as it was\n"
        "  NO_COLOR              no colour\n");
    return EXIT_FINE;
}

static int help_about(const char *word) {
    const command *found = find_command(word);
    if (found == NULL) return unknown_command(word);
    args_print_help(found->spec);
    return EXIT_FINE;
}

static int run_command(const command *c, int argc, char **argv) {
    args a;
    int status;
    if (args_parse(&a, c->spec, argc, argv, &status)) status = c->run(&a);
    args_free(&a);
    return status;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) return overview_run(commands, COMMANDS);
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return print_version();
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return print_help();
    if (strcmp(word, "help") == 0) return argc > 2 ? help_about(argv[2]) : print_help();
    if (word[0] == '-')
        return say_usage("'%s' comes before any command; write tessera COMMAND %s, or see 'tessera help'",
                         word, word);
    const command *found = find_command(word);
    return found != NULL ? run_command(found, argc - 2, argv + 2) : unknown_command(word);
}

int main(int argc, char **argv) {
    /* Beyond the limit on file sizes there is an error to report; the signal would only end the program. */
    signal(SIGXFSZ, SIG_IGN);
    int status = dispatch(argc, argv);
    say_progress_end();
    /* A full disk shows only when the last bytes are written. */
    int reason = say_flush();
    if (reason != 0 || ferror(stdout)) {
        say_error("could not write to standard output: %s",
                  reason != 0 ? strerror(reason) : "an earlier write failed");
        if (status == EXIT_FINE) status = EXIT_CHECK;
    }
    return status;
}
