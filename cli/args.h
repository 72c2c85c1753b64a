/* args.h: the options of a command. One table of rows is both what the parser takes and what the help says. */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct args_option {
    const char *name;  /* without dashes */
    const char *value; /* what it takes, as the help shows it; NULL for a flag */
    const char *help;
} args_option;

typedef struct args_spec {
    const char *command;
    const char *words; /* what may follow besides options, "[PATTERN...]" */
    size_t most_words;
    const char *summary; /* one line */
    const char *details; /* the rest of the help, whole lines; may be NULL */
    const args_option *options;
    size_t option_count;
} args_spec;

/* The rows that several commands share. */
#define ARGS_DEVICE_ROW \
    { "device", "NAME", "which device; default auto, or $TESSERA_DEVICE" }
#define ARGS_OUTPUT_ROWS                                                     \
    {"csv", "FILE|-", "write comma-separated values to FILE, or to stdout"}, \
        {"json", "FILE|-", "write JSON to FILE, or to stdout"}, {            \
        "md", NULL, "print a Markdown table"                                 \
    }
#define ARGS_QUIET_ROW \
    { "quiet", NULL, "no notes and no progress on stderr" }

typedef struct args {
    const args_spec *spec;
    const char **values; /* one per use of an option, in order, with its row in `rows` */
    size_t *rows;
    size_t value_count;
    const char **words;
    size_t word_count;
} args;

/* Parses what follows the command's name. Returns true if the command should go on; otherwise *status is what
 * to exit with, and help or an error has been printed. args_free is due in both cases. */
bool args_parse(args *a, const args_spec *spec, int argc, char **argv, int *status);
void args_free(args *a);
void args_print_help(const args_spec *spec);

/* The option must be a row of the table. Of several uses the last one counts, except with args_next, which
 * gives them in turn: *at starts at 0; NULL ends. */
bool args_given(const args *a, const char *name);
const char *args_text(const args *a, const char *name, const char *otherwise);
const char *args_next(const args *a, const char *name, size_t *at);

/* Numbers. They leave *value alone if the option is not given; a bad number is said and gives false. */
bool args_integer(const args *a, const char *name, int64_t least, int64_t most, int64_t *value);
bool args_real(const args *a, const char *name, double least, double most, double *value);
/* The index of the word given among `choices`, in *value; as above. */
bool args_choice(const args *a, const char *name, const char *const *choices, size_t count, int *value);

/* A word behind `before`, in quotes if a shell would want them; returns the length. */
size_t args_show_word(const char *before, const char *word, char *out, size_t room);
/* The command line that gives these, as a shell takes it, without the options named. */
void args_show(const args *a, const char *const *without, size_t count, char *out, size_t room);

#endif
