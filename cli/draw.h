/* draw.h: random numbers that are the same everywhere. */
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

/* splitmix64: small, and the same everywhere. */
static inline uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* One of 0 ... bound - 1. */
static inline int64_t draw_below(uint64_t *state, int64_t bound) {
    return (int64_t)(draw(state) % (uint64_t)bound);
}

#endif
