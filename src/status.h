/* status.h: how a failure travels. A function that can fail takes a `sentence`, writes into it once, at the
 * place where the fault is known, and returns a status that every caller passes on with TRY. */
#ifndef STATUS_H
#define STATUS_H

#include "tessera.h"

typedef struct sentence {
    char text[2048];
} sentence;

/* Writes the sentence and returns `status`, so that a refusal is one statement. */
tess_status status_fail(sentence *why, tess_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The sentence of calls that have no context; each thread has its own. */
sentence *status_of_thread(void);

#define TRY(call)                                     \
    do {                                              \
        tess_status try_status = (call);              \
        if (try_status != TESS_OK) return try_status; \
    } while (0)

#endif
