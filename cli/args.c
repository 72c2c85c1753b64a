/* args.c: parses options against a table and prints that table as help.
 *
 * Invariant: an option that is not a row of the table cannot be parsed, asked for or described, so the three
 * cannot disagree.
 */
#include "args.h"
#include "nearest.h"
#include "say.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t NO_ROW = (size_t)-1;

static size_t find_row(const args_spec *spec, const char *name, size_t length) {
    for (size_t i = 0; i < spec->option_count; i++) {
        const char *row = spec->options[i].name;
        if (strlen(row) == length && memcmp(row, name, length) == 0) return i;
    }
    return NO_ROW;
}

static size_t known_row(const args *a, const char *name) {
    size_t row = find_row(a->spec, name, strlen(name));
    assert(row != NO_ROW);
    return row;
}

static int unknown_option(const args_spec *spec, const char *name, size_t length) {
    const char *names[64];
    size_t count = 0;
    for (; count < spec->option_count && count < 64; count++) names[count] = spec->options[count].name;
    char *word = strndup(name, length);
    if (word == NULL) return say_usage("out of memory");
    int near = nearest_name(word, names, count);
    if (near >= 0)
        say_error("%s has no option '--%s'; did you mean '--%s'?", spec->command, word, names[near]);
    else
        say_error("%s has no option '--%s'; 'tessera %s --help' lists them", spec->command, word,
                  spec->command);
    free(word);
    return EXIT_USAGE;
}

/* One "--name", "--name=value" or "--name value". Returns how many arguments it took, or 0 after an error. */
static int parse_option(args *a, const char *text, const char *following) {
    const char *name = text + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    size_t row = find_row(a->spec, name, length);
    if (row == NO_ROW) {
        unknown_option(a->spec, name, length);
        return 0;
    }
    const args_option *option = &a->spec->options[row];
    const char *value = equals != NULL ? equals + 1 : following;
    if (option->value == NULL && equals != NULL) {
        say_error("--%s takes no value, but got '%s'", option->name, equals + 1);
        return 0;
    }
    if (option->value != NULL && value == NULL) {
        say_error("--%s needs a value: --%s %s", option->name, option->name, option->value);
        return 0;
    }
    a->values[a->value_count] = option->value != NULL ? value : "";
    a->rows[a->value_count++] = row;
    return option->value != NULL && equals == NULL ? 2 : 1;
}

/* -o FILE is short for --output FILE in the commands that have it; nothing else but -h is short. */
static const char *in_full(const args_spec *spec, const char *text) {
    return strcmp(text, "-o") == 0 && find_row(spec, "output", 6) != NO_ROW ? "--output" : text;
}

static bool is_option(const char *text) {
    return text[0] == '-' && text[1] == '-' && text[2] != '\0';
}

/* Sorts the arguments into options and words. Returns EXIT_FINE, or EXIT_USAGE after an error. */
static int sort_arguments(args *a, int argc, char **argv) {
    bool only_words = false;
    for (int i = 0; i < argc;) {
        const char *text = in_full(a->spec, argv[i]);
        if (!only_words && is_option(text)) {
            int taken = parse_option(a, text, i + 1 < argc ? argv[i + 1] : NULL);
            if (taken == 0) return EXIT_USAGE;
            i += taken;
        } else if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            i++;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
            return say_usage("options are written in full, with two dashes, and '%s' is none; "
                             "'tessera %s --help' lists them",
                             argv[i], a->spec->command);
        } else {
            a->words[a->word_count++] = argv[i++];
        }
    }
    if (a->word_count > a->spec->most_words)
        return say_usage("'%s' is one word too many: tessera %s %s [OPTION...]",
                         a->words[a->spec->most_words], a->spec->command, a->spec->words);
    return EXIT_FINE;
}

bool args_parse(args *a, const args_spec *spec, int argc, char **argv, int *status) {
    size_t room = (size_t)argc + 1;
    *a = (args){.spec = spec,
                .values = calloc(room, sizeof *a->values),
                .rows = calloc(room, sizeof *a->rows),
                .words = calloc(room, sizeof *a->words)};
    if (a->values == NULL || a->rows == NULL || a->words == NULL) {
        *status = say_usage("out of memory");
        return false;
    }
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        args_print_help(spec);
        *status = EXIT_FINE;
        return false;
    }
    *status = sort_arguments(a, argc, argv);
    return *status == EXIT_FINE;
}

void args_free(args *a) {
    free(a->values);
    free(a->rows);
    free(a->words);
}

void args_print_help(const args_spec *spec) {
    printf("tessera %s %s%s[OPTION...]\n\n%s.\n", spec->command, spec->words,
           spec->words[0] != '\0' ? " " : "", spec->summary);
    if (spec->details != NULL) printf("\n%s", spec->details);
    printf("\nOptions\n");
    for (size_t i = 0; i < spec->option_count; i++) {
        const args_option *option = &spec->options[i];
        char left[64];
        snprintf(left, sizeof left, "%s--%s%s%s", strcmp(option->name, "output") == 0 ? "-o, " : "",
                 option->name, option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
        printf("  %-28s %s\n", left, option->help);
    }
    printf("  %-28s %s\n", "--help", "this text");
}

bool args_given(const args *a, const char *name) {
    return args_text(a, name, NULL) != NULL;
}

const char *args_text(const args *a, const char *name, const char *otherwise) {
    size_t row = known_row(a, name);
    for (size_t i = a->value_count; i-- > 0;)
        if (a->rows[i] == row) return a->values[i];
    return otherwise;
}

const char *args_next(const args *a, const char *name, size_t *at) {
    size_t row = known_row(a, name);
    while (*at < a->value_count) {
        size_t i = (*at)++;
        if (a->rows[i] == row) return a->values[i];
    }
    return NULL;
}

bool args_integer(const args *a, const char *name, int64_t least, int64_t most, int64_t *value) {
    const char *text = args_text(a, name, NULL);
    if (text == NULL) return true;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most) {
        say_error("--%s is '%s'; it must be an integer from %lld to %lld", name, text, (long long)least,
                  (long long)most);
        return false;
    }
    *value = number;
    return true;
}

bool args_real(const args *a, const char *name, double least, double most, double *value) {
    const char *text = args_text(a, name, NULL);
    if (text == NULL) return true;
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || number < least || number > most) {
        say_error("--%s is '%s'; it must be a number from %g to %g", name, text, least, most);
        return false;
    }
    *value = number;
    return true;
}

bool args_choice(const args *a, const char *name, const char *const *choices, size_t count, int *value) {
    const char *text = args_text(a, name, NULL);
    if (text == NULL) return true;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, choices[i]) != 0) continue;
        *value = (int)i;
        return true;
    }
    char list[256] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", choices[i]);
    say_error("--%s is '%s'; it must be one of %s", name, text, list);
    return false;
}

/* A word as a shell takes it: in quotes unless it needs none. */
/* Adds text as far as there is room. */
static size_t add_text(const char *text, char *out, size_t used, size_t room) {
    int length = snprintf(out + used, room - used, "%s", text);
    return length < 0 || (size_t)length >= room - used ? room - 1 : used + (size_t)length;
}

size_t args_show_word(const char *before, const char *word, char *out, size_t room) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/";
    size_t used = add_text(before, out, 0, room);
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') return add_text(word, out, used, room);
    used = add_text("'", out, used, room);
    for (; *word != '\0'; word++) {
        char one[2] = {*word, '\0'};
        used = add_text(*word == '\'' ? "'\\''" : one, out, used, room);
    }
    return add_text("'", out, used, room);
}

void args_show(const args *a, const char *const *without, size_t count, char *out, size_t room) {
    size_t used = args_show_word("tessera ", a->spec->command, out, room);
    for (size_t i = 0; i < a->word_count; i++)
        used += args_show_word(" ", a->words[i], out + used, room - used);
    for (size_t i = 0; i < a->value_count; i++) {
        const args_option *option = &a->spec->options[a->rows[i]];
        bool left_out = false;
        for (size_t j = 0; j < count; j++) left_out = left_out || strcmp(option->name, without[j]) == 0;
        if (left_out) continue;
        used += args_show_word(" --", option->name, out + used, room - used);
        if (option->value != NULL) used += args_show_word(" ", a->values[i], out + used, room - used);
    }
}
