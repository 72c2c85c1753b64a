/* fill.h: numbers that look random and are the same everywhere. */
#ifndef FILL_H
#define FILL_H

#include <stdint.h>

/* 64 well-mixed bits for the pair (seed, index): any element can be drawn without drawing those before it. */
uint64_t fill_bits(uint64_t seed, uint64_t index);

#endif
