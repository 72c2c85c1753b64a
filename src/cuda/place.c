/* place.c: where operands lie. */
#include "cuda.h"

/* The driver knows device memory and pinned memory; what it does not know is ordinary host memory. */
static int memory_type(const void *memory) {
    unsigned type = 0, managed = 0;
    if (driver.cuPointerGetAttribute(&managed, CU_POINTER_IS_MANAGED, cuda_address(memory)) == CU_OK &&
        managed)
        return CU_MEMORY_DEVICE;
    if (driver.cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, cuda_address(memory)) != CU_OK) return 0;
    return (int)type;
}

int cuda_is_pinned(const void *memory) {
    return memory_type(memory) == CU_MEMORY_HOST;
}

/* Host memory that is none would end the process, so what a view says is checked here. */
static tess_status place_of(tess_place place, const void *memory, char name, int bit, int *on_host,
                            sentence *why) {
    if (place == TESS_DEVICE || !memory) return TESS_OK;
    int on_device = memory_type(memory) == CU_MEMORY_DEVICE;
    if (on_device && place == TESS_HOST)
        return status_fail(why, TESS_ERROR_ARGUMENT,
                           "%c.data is %p, which is device memory, but the view says host memory; set its "
                           "place to TESS_DEVICE or TESS_ASK",
                           name, memory);
    if (!on_device) *on_host |= bit;
    return TESS_OK;
}

tess_status cuda_places(cuda_device *self, const problem *what, const operands *data, int *on_host,
                        sentence *why) {
    (void)self;
    *on_host = 0;
    TRY(place_of(what->place_a, data->a, 'A', CUDA_A_ON_HOST, on_host, why));
    TRY(place_of(what->place_b, data->b, 'B', CUDA_B_ON_HOST, on_host, why));
    return place_of(what->place_c, data->c, 'C', CUDA_C_ON_HOST, on_host, why);
}
