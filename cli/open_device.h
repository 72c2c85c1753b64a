/* open_device.h: the device that a command works on. */
#ifndef OPEN_DEVICE_H
#define OPEN_DEVICE_H

#include "args.h"
#include "tessera.h"

/* Opens the device of --device, or says why it cannot be. */
bool open_device(const args *a, tess_context **ctx, tess_device_info *info);

#endif
