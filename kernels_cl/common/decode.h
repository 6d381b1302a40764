/* Forward and Backward of whole targets, and the regions that they show.

   common/fours.h or common/quads.h goes before it.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     offsets     int[n + 1]                      where each begins
     order       int[n]                          the sequences as they are taken, like beside like; -1 for none
     steps       float[Q][N_STEPS][4]            see common/local_rows.h
     emissions   float[N_CODES][Q][4]
     next        uint[1]                         in: 0; the next sequence to be taken
     rows        float[n items][3][Q][LANES]     scratch: M, I, D of a row
     slots       float[n items][longest + 1][N_SLOTS][SEQUENCES]   scratch, see common/local_targets.h
     scores      float[n]                        out: Forward scores in nats, minus infinity if nothing can be matched
     expected    float[n]                        out: expected number of domains, no number on overflow
     regions     int[n_residues]                 out, see common/regions.h */

#include "common/local_rows.h"
#include "common/local_targets.h"
#include "common/regions.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Backward of all problems; leaves its products with Forward in the slots, and 1 / N of the first row. */
CALL lanes_t backward_targets(const team_t *team, const targets_t *t, grid m, grid i, grid d, slots_t slots,
                              const ends_t *ends)
{
    specials_t s = {NONE, NONE, NONE, NONE, NONE};
    masks own = (masks)(0);
    const reals length = from_each(t->length);
    for (int q = 0; q < team->vectors; q++) m[AT(q)] = i[AT(q)] = d[AT(q)] = NONE;
    for (int x = t->longest; x > 0; x--) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        backward_row(team, m, i, d, &s, length == (float)x, ends, &emission);
        const reals forward_scale = SPREAD(slots[FEW(x * N_SLOTS + SLOT_SCALE)]);
        const reals scale = scale_backward(team, m, i, d, &s, &own, forward_scale);
        decode_specials(slots, x, s, scale, ends->loop);
    }
    const emission_t emission = emissions_at(team, t->codes, t->length, 0);
    lanes_t factor;
    s = before_first(team, m, s, ends, &emission);
    slots[FEW(SLOT_B)] = PACK(SPREAD(slots[FEW(SLOT_B)]) * s.b);
    factor.v = quotient((reals)(1.0f), s.n);
    return factor;
}

__kernel KERNEL_ATTRIBUTES
void decode(__global const uchar *codes, __global const int *offsets, __global const int *order, const uint n,
            const int vectors, const int longest, table_t steps, table_t emissions, __global uint *next, grid rows,
            slots_t slots, __global float *scores, __global float *expected, __global int *regions)
{
    LOCAL_SCRATCH
    TEAM(team, steps, emissions, vectors);
    grid m = rows + ITEM * AT(3 * vectors) + FIRST_LANE, i = m + AT(vectors), d = i + AT(vectors);
    slots += ITEM * FEW((longest + 1) * N_SLOTS) + PROBLEM(0);
    for (uint first = TAKE_NEXT(next); first < n; first = TAKE_NEXT(next)) {
        targets_t t;
        for (int s = 0; s < PROBLEMS; s++) {
            const int row = first + PROBLEM(s) < n ? order[first + PROBLEM(s)] : -1, start = row < 0 ? 0 : offsets[row];
            place_target(&t, s, row, row < 0 ? 0 : offsets[row + 1] - start, codes + start);
        }
        t.longest = LONGEST_OF_ALL(t.longest);
        const ends_t ends = ends_for(t.length, 0);
        forward_targets(&team, &t, m, i, d, 0, 0, slots, &ends);
        const lanes_t factor = backward_targets(&team, &t, m, i, d, slots, &ends);
        TOGETHER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int row = t.place[s];
            if (row < 0 || !LEADS) continue;
            scores[row] = t.score[s];
            expected[row] = t.length[s] == 0 ? 0.0f
                : find_regions(RAW_SLOTS(slots, s), t.length[s], OF(factor, s) * (1.0f + SABOTAGE),
                               regions + offsets[row]);
        }
        TOGETHER;
    }
}
