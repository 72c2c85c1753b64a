/* keep.c: parts of f32 matrices that many products share (tess_prepare), in device memory of their own. */
#include "../memory.h"
#include "../slices.h"
#include "cuda.h"

/* Nothing is kept of a matrix in host memory. */
static tess_status write_parts(cuda_device *self, const line_matrix *what, split_kept *made, int64_t bytes,
                               int64_t *words, sentence *why) {
    int on_host;
    TRY(cuda_places(self, &(problem){.place_a = what->place}, &(operands){.a = what->data}, &on_host, why));
    if (on_host) return TESS_OK;
    TRY(cuda_alloc(self, (size_t)bytes, "the parts of an operand", &made->memory, why));
    return cuda_queue_parts(self, what, made->memory, words, why);
}

/* What the card found is needed on the host, where products are planned, so this waits. */
static tess_status read_found(cuda_device *self, split_kept *made, int64_t words, sentence *why) {
    size_t size = (size_t)words * sizeof(int32_t);
    int32_t *state = memory_alloc(size);
    if (!state) return status_fail(why, TESS_ERROR_MEMORY, "no memory for %zu bytes of facts", size);
    tess_status status = self->base.ops->copy(&self->base, state, made->memory, size, why);
    if (status == TESS_OK) made->found = split_found(state, words);
    memory_free(state);
    return status;
}

static tess_status make(cuda_device *self, const line_matrix *what, split_kept *made, int64_t bytes,
                        sentence *why) {
    int64_t words = 0;
    TRY(cuda_enter(self, why));
    TRY(cuda_leave(self, write_parts(self, what, made, bytes, &words, why)));
    return made->memory ? read_found(self, made, words, why) : TESS_OK;
}

/* Nothing is kept where no kernel splits f32, products are cut into slices, or there is no memory for it. */
tess_status cuda_keep(device *base, const line_matrix *what, void **kept, int64_t *bytes, sentence *why) {
    cuda_device *self = (cuda_device *)base;
    if (what->type != TESS_F32 || !cuda_splits(self) || what->lines > INT32_MAX || what->k > SLICES_LONGEST)
        return TESS_OK;
    split_kept *made = memory_alloc_zeroed(sizeof *made);
    if (!made)
        return status_fail(why, TESS_ERROR_MEMORY, "no memory for an operand (%zu bytes)", sizeof *made);
    made->alone = split_alone(what);
    *bytes = split_workspace(&made->alone, NULL);
    tess_status status = make(self, what, made, *bytes, why);
    if (status == TESS_OK && made->memory) {
        *kept = made;
        return TESS_OK;
    }
    *bytes = 0;
    cuda_drop(base, made);
    return status == TESS_ERROR_MEMORY ? TESS_OK : status;
}

/* Products that use it may still be running: freeing waits for them. */
void cuda_drop(device *base, void *kept) {
    cuda_device *self = (cuda_device *)base;
    split_kept *made = kept;
    sentence ignored;
    if (made->memory && cuda_enter(self, &ignored) == TESS_OK) {
        driver.cuMemFree(cuda_address(made->memory));
        cuda_leave(self, TESS_OK);
    }
    memory_free(made);
}
