/* unit_planned.h: products drawn at random, as the planner has them. */
#ifndef UNIT_PLANNED_H
#define UNIT_PLANNED_H

#include "../src/plan.h"
#include "harness.h"

/* A product of any types, shapes and strides, and its plan for a device; what was drawn, for a message. After h200_begin. */
tess_status planned_draw(const device *on, test_rng *rng, plan *out, char text[256], sentence *why);

#endif
