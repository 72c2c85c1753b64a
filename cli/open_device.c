/* open_device.c: the device that a command works on. */
#include "open_device.h"

#include "say.h"

bool open_device(const args *a, tess_context **ctx, tess_device_info *info) {
    if (tess_open(ctx, args_text(a, "device", "auto")) == TESS_OK && tess_device_facts(*ctx, info) == TESS_OK)
        return true;
    say_error("%s", tess_error(*ctx));
    tess_close(*ctx);
    *ctx = NULL;
    return false;
}
