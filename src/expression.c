/* expression.c: a formula by recursive descent, one function for each level of precedence. */
#include "expression.h"

#include <math.h>
#include <string.h>

/* Brackets and signs within each other. */
enum { DEEPEST = 200 };

typedef struct parser {
    const char *at;
    const expression_name *names;
    size_t count;
    int depth;
    const char *trouble; /* NULL until something is wrong */
} parser;

static double parse_or(parser *p);

static void skip_space(parser *p) {
    while (*p->at == ' ') p->at++;
}

/* Takes `token` if it comes next. */
static int take(parser *p, const char *token) {
    skip_space(p);
    size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0) return 0;
    p->at += length;
    return 1;
}

static double fail(parser *p, const char *trouble) {
    if (!p->trouble) p->trouble = trouble;
    return 0;
}

static int is_word(const char *at, size_t length, const char *word) {
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

/* Not isdigit and isalpha, nor strtod: what those take depends on the program's locale. */
static int is_digit(char c) {
    return c >= '0' && c <= '9';
}
static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* 12, 3.5, 1e9. */
static double parse_number(parser *p) {
    double value = 0;
    int exponent = 0, given = 0;
    for (; is_digit(*p->at); p->at++) value = value * 10 + (*p->at - '0');
    if (*p->at == '.' && is_digit(p->at[1]))
        for (p->at++; is_digit(*p->at); p->at++, exponent--) value = value * 10 + (*p->at - '0');
    if (*p->at == 'e' && (is_digit(p->at[1]) || (p->at[1] == '-' && is_digit(p->at[2])))) {
        int sign = p->at[1] == '-' ? -1 : 1;
        for (p->at += sign < 0 ? 2 : 1; is_digit(*p->at); p->at++)
            if (given < 1000) given = given * 10 + (*p->at - '0');
        exponent += sign * given;
    }
    return exponent < 0 ? value / pow(10, -exponent) : value * pow(10, exponent);
}

static double parse_call(parser *p, const char *name, size_t length) {
    double x = parse_or(p), y = 0;
    int both = take(p, ",");
    if (both) y = parse_or(p);
    if (!take(p, ")")) return fail(p, "')' is missing");
    int takes_one = is_word(name, length, "ceil") || is_word(name, length, "floor"),
        takes_two = is_word(name, length, "min") || is_word(name, length, "max");
    if (!takes_one && !takes_two) return fail(p, "there is no such function");
    if (both != takes_two) return fail(p, both ? "it takes one number" : "it takes two numbers");
    if (takes_one) return *name == 'c' ? ceil(x) : floor(x);
    return name[1] == 'i' ? fmin(x, y) : fmax(x, y);
}

/* A name may have parts, as before.barriers has. */
static double parse_name(parser *p) {
    const char *name = p->at;
    while (is_letter(*p->at) || is_digit(*p->at) || *p->at == '_' || *p->at == '.') p->at++;
    size_t length = (size_t)(p->at - name);
    if (take(p, "(")) return parse_call(p, name, length);
    for (size_t i = 0; i < p->count; i++)
        if (is_word(name, length, p->names[i].name)) return p->names[i].value;
    p->at = name;
    return fail(p, "there is no such name");
}

static double parse_plain_factor(parser *p);

static double parse_factor(parser *p) {
    if (p->depth == DEEPEST) return fail(p, "there are too many brackets within each other");
    p->depth++;
    double value = parse_plain_factor(p);
    p->depth--;
    return value;
}

static double parse_plain_factor(parser *p) {
    skip_space(p);
    if (take(p, "-")) return -parse_factor(p);
    if (take(p, "(")) {
        double value = parse_or(p);
        return take(p, ")") ? value : fail(p, "')' is missing");
    }
    if (is_digit(*p->at)) return parse_number(p);
    if (is_letter(*p->at)) return parse_name(p);
    return fail(p, "a number or a name is missing");
}

static double parse_product(parser *p) {
    double value = parse_factor(p);
    while (!p->trouble) {
        if (take(p, "*"))
            value *= parse_factor(p);
        else if (take(p, "/"))
            value /= parse_factor(p);
        else if (take(p, "%"))
            value = fmod(value, parse_factor(p));
        else
            break;
    }
    return value;
}

static double parse_sum(parser *p) {
    double value = parse_product(p);
    while (!p->trouble) {
        if (take(p, "+"))
            value += parse_product(p);
        else if (take(p, "-"))
            value -= parse_product(p);
        else
            break;
    }
    return value;
}

static double parse_comparison(parser *p) {
    double x = parse_sum(p);
    if (take(p, "<=")) return x <= parse_sum(p);
    if (take(p, ">=")) return x >= parse_sum(p);
    if (take(p, "==")) return x == parse_sum(p);
    if (take(p, "!=")) return x != parse_sum(p);
    if (take(p, "<")) return x < parse_sum(p);
    if (take(p, ">")) return x > parse_sum(p);
    return x;
}

static double parse_and(parser *p) {
    double value = parse_comparison(p);
    while (!p->trouble && take(p, "&&")) {
        double right = parse_comparison(p);
        value = value != 0 && right != 0;
    }
    return value;
}

static double parse_or(parser *p) {
    double value = parse_and(p);
    while (!p->trouble && take(p, "||")) {
        double right = parse_and(p);
        value = value != 0 || right != 0;
    }
    return value;
}

tess_status expression_value(const char **text, const expression_name *names, size_t count, double *value,
                             sentence *why) {
    parser p = {.at = *text, .names = names, .count = count};
    double found = parse_or(&p);
    skip_space(&p);
    if (!p.trouble && *p.at && *p.at != ',' && *p.at != ':' && *p.at != '\n')
        p.trouble = "an operator is missing";
    if (p.trouble)
        return status_fail(why, TESS_ERROR_ARGUMENT, "the formula '%.200s' is not understood at '%.40s': %s",
                           *text, p.at, p.trouble);
    *text = p.at;
    *value = found;
    return TESS_OK;
}
