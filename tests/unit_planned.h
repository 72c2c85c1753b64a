/* unit_planned.h: products drawn at random, as the planner has them. */
#ifndef UNIT_PLANNED_H
#define UNIT_PLANNED_H

#include "../src/cuda/cuda.h"
#include "../src/plan.h"
#include "harness.h"

/* A card: its multiprocessors, and what shared memory a block may have there. */
typedef struct planned_card {
    int architecture, sms, shared;
} planned_card;
/* One of each architecture, from an RTX 2080 Ti to an RTX 5090, the H200 first. */
enum { PLANNED_CARDS = 7 };
extern const planned_card planned_cards[PLANNED_CARDS];

/* A device that exists in name only; the facts must outlive it. */
cuda_facts planned_facts(const planned_card *card);
cuda_device planned_device(const cuda_facts *facts);

/* A product of any types, shapes and strides, and its plan for a device; what was drawn, for a message. After h200_begin. */
tess_status planned_draw(const device *on, test_rng *rng, plan *out, char text[256], sentence *why);

#endif
