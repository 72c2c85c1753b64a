/* unit_launch.c: the shapes of launches. White-box: src/launch.h. */
#include "harness.h"
#include "../src/launch.h"

/* A thread remembers some shapes: with more of them than that, and errors between, each is still its own. */
TEST(launch_shapes_are_those_of_their_parameters) {
    int64_t params[REGISTRY_PARAMS];
    launch_shape shape;
    sentence why;
    const kernel_row *row = registry_find("gpu", "simt_05_shared", &why);
    registry_defaults(row, TESS_F32, params);
    int at = registry_find_param(row, "TILE");
    for (int pass = 0; pass < 3; pass++)
        for (int tile = 1; tile <= 32; tile += pass == 1 ? 13 : 3) {
            params[at] = tile;
            CHECK(launch_shape_of(row, TESS_F32, params, &shape, &why) == TESS_OK && shape.block_x == tile &&
                      shape.tile_rows == tile,
                  "TILE=%d: %d threads, %d rows", tile, shape.block_x, shape.tile_rows);
            params[at] = 64;
            CHECK(launch_shape_of(row, TESS_F32, params, &shape, &why) == TESS_ERROR_KERNEL,
                  "64×64 threads were taken");
        }
}

/* The same parameters need twice the memory for elements twice as wide, whichever type came before. */
TEST(launch_shapes_are_those_of_their_type) {
    int64_t params[REGISTRY_PARAMS];
    sentence why;
    const kernel_row *row = registry_find("gpu", "simt_12_pipelined", &why);
    registry_defaults(row, TESS_F64, params);
    for (int pass = 0; pass < 2; pass++) {
        launch_shape narrow = {.shared = 0}, wide = {.shared = 0};
        CHECK(launch_shape_of(row, TESS_F32, params, &narrow, &why) == TESS_OK &&
                  launch_shape_of(row, TESS_F64, params, &wide, &why) == TESS_OK,
              "%s", why.text);
        CHECK(narrow.shared > 0 && wide.shared == 2 * narrow.shared, "%d bytes for f32, %d for f64",
              narrow.shared, wide.shared);
    }
}
