/* operand.h: a matrix that was prepared for many products. */
#ifndef OPERAND_H
#define OPERAND_H

#include "plan.h"

struct tess_operand {
    tess_context *ctx;
    tess_role role;
    tess_matrix view;
    void *kept;    /* by the device; NULL: nothing */
    int64_t bytes; /* of it */
    int users;     /* plans; guarded by the context's lock */
};

/* What a run finds kept of the matrix `name`, whose data is at `data`. Refuses other data than was prepared. */
tess_status operand_use(const tess_operand *prepared, const char *name, const void *data, const void **kept,
                        sentence *why);

/* The plan uses none from now on. The context's lock must be held. */
void operand_release(plan *decided);

#endif
