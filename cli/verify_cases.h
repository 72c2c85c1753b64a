/* verify_cases.h: the products `tessera verify` tries. */
#ifndef VERIFY_CASES_H
#define VERIFY_CASES_H

#include "problem.h"
#include "sizes.h"

#include <stddef.h>

/* What was fixed on the command line; everything else is varied. */
typedef struct verify_choice {
    sizes_list shapes;        /* empty: the built-in ones */
    int64_t random, max_size; /* so many random ones follow */
    uint64_t seed;
    int layout;       /* -1: all */
    int64_t ld_pad;   /* -1: varied */
    int64_t misalign; /* -1: varied */
    int64_t batch;    /* 0: varied */
    bool scaled;      /* alpha and beta were given */
    double alpha, beta;
} verify_choice;

typedef struct verify_cases {
    problem_spec *specs; /* their types are not set */
    size_t count, room;
} verify_cases;

/* The cases depend on the choice only, so that every kernel and type is tried on the same ones. Returns false
 * if there is no memory. */
bool verify_cases_make(verify_cases *cases, const verify_choice *choice);
void verify_cases_free(verify_cases *cases);

#endif
