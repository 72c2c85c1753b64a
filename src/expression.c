/* expression.c: a formula by recursive descent, one function for each level of precedence. */
#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *at;
    const expression_name *names;
    size_t count;
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

static double parse_call(parser *p, const char *name, size_t length) {
    double x = parse_or(p), y = take(p, ",") ? parse_or(p) : 0;
    if (!take(p, ")")) return fail(p, "')' is missing");
    if (is_word(name, length, "ceil")) return ceil(x);
    if (is_word(name, length, "floor")) return floor(x);
    if (is_word(name, length, "min")) return fmin(x, y);
    if (is_word(name, length, "max")) return fmax(x, y);
    return fail(p, "there is no such function");
}

/* A name may have parts, as before.barriers has. */
static double parse_name(parser *p) {
    const char *name = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.') p->at++;
    size_t length = (size_t)(p->at - name);
    if (take(p, "(")) return parse_call(p, name, length);
    for (size_t i = 0; i < p->count; i++)
        if (is_word(name, length, p->names[i].name)) return p->names[i].value;
    p->at = name;
    return fail(p, "there is no such name");
}

static double parse_factor(parser *p) {
    skip_space(p);
    if (take(p, "-")) return -parse_factor(p);
    if (take(p, "(")) {
        double value = parse_or(p);
        return take(p, ")") ? value : fail(p, "')' is missing");
    }
    if (isdigit((unsigned char)*p->at)) {
        char *end;
        double value = strtod(p->at, &end);
        p->at = end;
        return value;
    }
    if (isalpha((unsigned char)*p->at)) return parse_name(p);
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
    *value = parse_or(&p);
    skip_space(&p);
    if (!p.trouble && *p.at && *p.at != ',' && *p.at != ':' && *p.at != '\n')
        p.trouble = "an operator is missing";
    if (p.trouble)
        return status_fail(why, TESS_ERROR_INTERNAL, "the formula '%.200s' is not understood at '%.40s': %s",
                           *text, p.at, p.trouble);
    *text = p.at;
    return TESS_OK;
}
