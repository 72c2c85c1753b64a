/* peer_call.c: a status of either library as a sentence. */
#include "peer_call.h"

#include <inttypes.h>

tess_status peer_fail(const char *function, int status, const peer_call *call, sentence *why) {
    static const struct {
        int status;
        const char *name;
    } names[] = {{1, "CUBLAS_STATUS_NOT_INITIALIZED"}, {3, "CUBLAS_STATUS_ALLOC_FAILED"},
                 {7, "CUBLAS_STATUS_INVALID_VALUE"},   {8, "CUBLAS_STATUS_ARCH_MISMATCH"},
                 {11, "CUBLAS_STATUS_MAPPING_ERROR"},  {13, "CUBLAS_STATUS_EXECUTION_FAILED"},
                 {14, "CUBLAS_STATUS_INTERNAL_ERROR"}, {15, "CUBLAS_STATUS_NOT_SUPPORTED"},
                 {16, "CUBLAS_STATUS_LICENSE_ERROR"}};
    const char *name = "an unknown status";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status) name = names[i].name;
    return status_fail(why, status == 7 || status == 15 ? TESS_ERROR_KERNEL : TESS_ERROR_DEVICE,
                       "%s failed: %s (%d), for %" PRId64 "×%" PRId64 "×%" PRId64 " by columns, %s times %s",
                       function, name, status, call->m, call->n, call->k, call->x.transposed ? "T" : "N",
                       call->y.transposed ? "T" : "N");
}
