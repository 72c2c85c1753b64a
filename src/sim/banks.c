/* banks.c: from instructions to wavefronts (Volta and later).
 *
 * An instruction of up to 4 bytes a lane serves all 32 lanes at once; one of 8 bytes two halves of the warp,
 * one of 16 four quarters, and so does ldmatrix, whose 8×8 matrices are its quarters. Where an ordinary load
 * has every lane ask for the same address as its neighbour, or as its neighbour but one, two of these parts
 * are served together. A part takes as many wavefronts as its busiest bank has different words. */
#include "banks.h"

#include <stddef.h>

/* Whether all lanes agree with the lane `apart` from them, where both are there. */
static int pairs_agree(const uint32_t *offsets, uint32_t mask, int apart) {
    for (int lane = 0; lane < BANKS_LANES; lane++)
        if (mask >> lane & 1 && mask >> (lane ^ apart) & 1 && offsets[lane] != offsets[lane ^ apart])
            return 0;
    return 1;
}

/* The most different words any bank is asked for by `lanes` lanes from `first`; 0 if none of them is there.
 */
static int busiest_bank(const uint32_t *offsets, uint32_t mask, int first, int lanes, int words) {
    uint32_t asked[BANKS_LANES][BANKS_LANES * 4];
    int count[BANKS_LANES] = {0}, most = 0;
    for (int lane = first; lane < first + lanes; lane++)
        for (int i = 0; mask >> lane & 1 && i < words; i++) {
            uint32_t word = offsets[lane] / 4 + (uint32_t)i, bank = word % BANKS_LANES;
            int k = 0;
            while (k < count[bank] && asked[bank][k] != word) k++;
            if (k == count[bank]) asked[bank][count[bank]++] = word;
            if (count[bank] > most) most = count[bank];
        }
    return most;
}

int banks_wavefronts(const uint32_t offsets[BANKS_LANES], uint32_t mask, int bytes, int apart, int *least) {
    int words = bytes <= 4 ? 1 : bytes / 4, parts = words, total = 0;
    if (parts > 1 && !apart && (pairs_agree(offsets, mask, 1) || pairs_agree(offsets, mask, 2))) parts /= 2;
    *least = 0;
    for (int part = 0; part < parts; part++) {
        int lanes = BANKS_LANES / parts, busy = busiest_bank(offsets, mask, part * lanes, lanes, words);
        total += busy;
        *least += busy > 0;
    }
    return total;
}

/* The most lanes that read from any bank of global memory's side: there lanes do not share a word. */
static int busiest_source(const warps_request *load, int first, int lanes, int words) {
    int count[BANKS_LANES] = {0}, most = 0;
    for (int lane = first; lane < first + lanes; lane++)
        for (int i = 0; load->mask >> lane & 1 && i < words; i++) {
            int *bank = &count[(load->at[lane] / 4 + (uint64_t)i) % BANKS_LANES];
            if (++*bank > most) most = *bank;
        }
    return most;
}

/* A copy of up to 8 bytes a lane passes through L1: in each part the busier side decides. */
static int cached_wavefronts(const warps_request *load, const warps_request *store, const uint32_t *offsets,
                             int *least) {
    int bytes = (int)(store->kind & WARPS_BYTES), parts = bytes <= 4 ? 1 : bytes / 4;
    int lanes = BANKS_LANES / parts, total = 0;
    for (int part = 0; part < parts; part++) {
        int from = busiest_source(load, part * lanes, lanes, parts);
        int to = busiest_bank(offsets, store->mask, part * lanes, lanes, parts);
        total += from > to ? from : to;
        *least += to > 0;
    }
    return total;
}

/* How many different pieces of 1 << from_shift bytes of global memory, and of 1 << to_shift bytes of shared
 * memory, the lanes of a quarter copy between; a shift of WHOLE has all memory as one piece. */
enum { WHOLE = 63, LINE = 7, SECTOR = 5, QUARTER = BANKS_LANES / 4 };
static int count_pieces(const warps_request *load, const warps_request *store, int first, int from_shift,
                        int to_shift) {
    uint64_t from[QUARTER], to[QUARTER];
    int count = 0;
    for (int lane = first; lane < first + QUARTER; lane++) {
        int k = 0;
        if (!((load->mask & store->mask) >> lane & 1)) continue;
        from[count] = load->at[lane] >> from_shift;
        to[count] = store->at[lane] >> to_shift;
        while (from[k] != from[count] || to[k] != to[count]) k++;
        count += k == count;
    }
    return count;
}

/* A copy of 16 bytes goes past L1. A quarter takes a pass for each line of global memory and each line of
 * shared memory that it goes to from there, and two for each further line of shared memory. Where its places
 * in shared memory share banks, the passes that are more are made for each line of global memory. */
static int bypass_wavefronts(const warps_request *load, const warps_request *store, const uint32_t *offsets,
                             int *least) {
    int total = 0;
    for (int first = 0; first < BANKS_LANES; first += QUARTER) {
        int busy = busiest_bank(offsets, store->mask, first, QUARTER, 4);
        int from = count_pieces(load, store, first, LINE, WHOLE);
        int to = count_pieces(load, store, first, WHOLE, LINE);
        int pairs = count_pieces(load, store, first, LINE, LINE);
        int undisturbed = from ? pairs + 2 * (to - 1) : busy > 0;
        *least += undisturbed;
        total += undisturbed + (busy ? busy - 1 : 0) * (from ? from : 1);
    }
    if (load->mask) return total;
    /* Nothing but zeros: two passes a lane, conflicts among them. */
    int zeros = 2 * __builtin_popcount(store->mask), conflicts = total - *least;
    *least = zeros - conflicts;
    return zeros;
}

int banks_copy_wavefronts(const warps_request *load, const warps_request *store, int *least) {
    uint32_t offsets[BANKS_LANES];
    for (int lane = 0; lane < BANKS_LANES; lane++) offsets[lane] = (uint32_t)store->at[lane];
    *least = 0;
    return (store->kind & WARPS_BYTES) == 16 ? bypass_wavefronts(load, store, offsets, least)
                                             : cached_wavefronts(load, store, offsets, least);
}

int banks_copy_split_sectors(const warps_request *load, const warps_request *store) {
    int split = 0;
    for (int first = 0; (store->kind & WARPS_BYTES) == 16 && first < BANKS_LANES; first += QUARTER) {
        int from = count_pieces(load, store, first, SECTOR, WHOLE);
        int to = count_pieces(load, store, first, WHOLE, SECTOR);
        split += to > from ? to - from : 0;
    }
    return split;
}

int banks_add(void *self, const warps_request *request) {
    banks_tally *tally = self;
    banks_site *site = NULL;
    uint32_t offsets[BANKS_LANES];
    int bytes = (int)(request->kind & WARPS_BYTES), writes = (request->kind & WARPS_WRITE) != 0, least;
    for (int i = 0; i < tally->count && !site; i++)
        if (tally->sites[i].site == request->site) site = &tally->sites[i];
    if (!site && tally->count == BANKS_SITES) return 1;
    if (!site) {
        site = &tally->sites[tally->count++];
        *site = (banks_site){.site = request->site, .bytes = (uint16_t)bytes, .writes = (uint16_t)writes};
    }
    for (int lane = 0; lane < BANKS_LANES; lane++) offsets[lane] = (uint32_t)request->at[lane];
    site->requests++;
    site->wavefronts +=
        (uint64_t)banks_wavefronts(offsets, request->mask, bytes, banks_are_apart(request->kind), &least);
    site->least += (uint64_t)least;
    return 1;
}
