/* status.c: statuses and their sentences. A sentence too long for its buffer is cut, never overrun. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

const char *tess_version(void) {
    return TESS_VERSION_STRING;
}

const char *tess_status_name(tess_status status) {
    switch (status) {
    case TESS_OK: return "TESS_OK";
    case TESS_ERROR_ARGUMENT: return "TESS_ERROR_ARGUMENT";
    case TESS_ERROR_SHAPE: return "TESS_ERROR_SHAPE";
    case TESS_ERROR_TYPE: return "TESS_ERROR_TYPE";
    case TESS_ERROR_ALIAS: return "TESS_ERROR_ALIAS";
    case TESS_ERROR_KERNEL: return "TESS_ERROR_KERNEL";
    case TESS_ERROR_DEVICE: return "TESS_ERROR_DEVICE";
    case TESS_ERROR_MEMORY: return "TESS_ERROR_MEMORY";
    case TESS_ERROR_INTERNAL: return "TESS_ERROR_INTERNAL";
    }
    return "unknown status";
}

tess_status status_fail(sentence *why, tess_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return status;
}

sentence *status_of_thread(void) {
    static _Thread_local sentence thread_sentence;
    return &thread_sentence;
}
