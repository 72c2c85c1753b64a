/* expression.h: small formulas in rows and headers, such as "BM*BN/(TM*TN) <= 1024".
 *
 * Numbers, names, + - * / % ( ), comparisons (1 or 0), && and ||, ceil(x), floor(x), min(x, y), max(x, y), in
 * C's order of precedence. Arithmetic is real: 7/2 is 3.5. */
#ifndef EXPRESSION_H
#define EXPRESSION_H

#include "status.h"

typedef struct expression_name {
    const char *name;
    double value;
} expression_name;

/* Evaluates the formula at *text and moves *text behind it: to a comma, a colon or the end. On failure the
 * sentence says where it stopped. */
tess_status expression_value(const char **text, const expression_name *names, size_t count, double *value,
                             sentence *why);

#endif
