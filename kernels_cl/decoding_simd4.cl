/* Forward and Backward of whole targets, and the regions that they show.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     offsets     int[n + 1]                      where each begins
     order       int[n]                          the sequences as they are taken, like beside like; -1 for none; a team
                                                 takes such of one model, at least one
     model_of    int[]                           the model of each sequence
     models, transitions, emissions              see common/local_model.h
     next        uint[1]                         in: 0; the next sequence to be taken
     rows        float[n teams][row_room][ROW_LANES]   scratch: M, I, D of a row, or of two in turn; of work-items in local
                                                 memory
     slots       float[n teams][longest + 1][N_SLOTS][SLOT_LANES]   scratch, see common/local_rows.h
     scores      float[n]                        out: Forward scores in nats, minus infinity if nothing can be matched
     expected    float[n]                        out: expected number of domains, no number on overflow
     regions     int[n_residues]                 out, see find_regions

   Macros
     LANES, LANE_BACKEND   see common/simd4.h
     SABOTAGE              1 plants a fault, for the test of the tests

   Geometry: see common/simd4.h; teams take their problems from a counter and run as far as the longest of them. */

#include "common/local_rows.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Limits of what shows a region (clalign/reference/decoding.py). */
#define INSIDE 0.25f
#define AT_EDGE 0.10f
#define SEVERAL 0.20f

/* Replace what Forward left of a row > 0 by its product with Backward: of N, J and C before the residue, of E and B
   after it; the last slot by the quotient of the divisors. */
CALL void decode_specials(slots_t slots, int row, local_specials_t s, reals scale, reals loop)
{
    slots += SLOT_AT(row * N_SLOTS);
    slots_t before = slots - SLOT_AT(N_SLOTS);
    const reals forward_scale = BROADCAST(slots[SLOT_AT(SLOT_SCALE)]);
    slots[SLOT_AT(SLOT_N)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_N)]) * s.n * loop);
    slots[SLOT_AT(SLOT_J)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_J)]) * s.j * loop);
    slots[SLOT_AT(SLOT_C)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_C)]) * s.c * loop);
    slots[SLOT_AT(SLOT_E)] = GATHER(BROADCAST(slots[SLOT_AT(SLOT_E)]) * s.e * forward_scale);
    slots[SLOT_AT(SLOT_B)] = GATHER(BROADCAST(slots[SLOT_AT(SLOT_B)]) * s.b * forward_scale);
    slots[SLOT_AT(SLOT_SCALE)] = GATHER(quotient(forward_scale, scale));
}

/* Whether a region may hold several domains; running sums are in the slots of N (begun) and E (ended). */
CALL int is_multiple(__global const float *slots, int first, int last)
{
    for (int z = first; z <= last; z++) {
        const float ended = SLOT(slots, z, SLOT_E) - SLOT(slots, first - 1, SLOT_E);
        const float begun = SLOT(slots, last, SLOT_N) - SLOT(slots, z - 1, SLOT_N);
        if ((ended < begun ? ended : begun) >= SEVERAL) return 1;
    }
    return 0;
}

/* Write the regions of a target of one problem: at the first residue of each, its length * 2 + whether it may
   hold several domains, and 0 elsewhere. Returns the expected number of domains, or no number on overflow.
   `factor` is 1 / N of the first row of Backward. */
CALL float find_regions(__global float *slots, int length, float factor, __global int *regions)
{
    float begun = 0.0f, ended = 0.0f;
    int first = 0, triggered = 0;
    SLOT(slots, 0, SLOT_N) = SLOT(slots, 0, SLOT_E) = 0.0f;
    for (int x = 1; x <= length; x++) {
        const float more_begun = begun + SLOT(slots, x - 1, SLOT_B) * factor;
        factor *= SLOT(slots, x - 1, SLOT_SCALE);
        const float more_ended = ended + SLOT(slots, x, SLOT_E) * factor;
        float outside = SLOT(slots, x, SLOT_N) * factor;
        outside = outside + SLOT(slots, x, SLOT_J) * factor;
        outside = outside + SLOT(slots, x, SLOT_C) * factor;
        const float inside = 1.0f - outside;
        const int not_begun = inside - (more_begun - begun) < AT_EDGE;
        const int not_ended = inside - (more_ended - ended) < AT_EDGE;
        begun = SLOT(slots, x, SLOT_N) = more_begun;
        ended = SLOT(slots, x, SLOT_E) = more_ended;
        regions[x - 1] = 0;
        if (!triggered) {
            if (not_begun || !first) first = x;
            triggered = inside >= INSIDE;
        } else if (not_ended) {
            regions[first - 1] = (x - first + 1) << 1 | is_multiple(slots, first, x);
            first = triggered = 0;
        }
    }
    if (isfinite(factor)) return begun;
    for (int x = 0; x < length; x++) regions[x] = 0;
    return NAN;
}

/* Backward of all problems; leaves its products with Forward in the slots, and 1 / N of the first row. */
CALL per_lane_t backward_targets(const team_t *team, const targets_t *t, row_t m, row_t i, row_t d, slots_t slots,
                              const length_model_t *ends)
{
    local_specials_t s = {ZEROS, ZEROS, ZEROS, ZEROS, ZEROS};
    masks own = (masks)(0);
    const reals length = from_each(t->length);
    EACH_VECTOR(team, q) m[VEC(q)] = i[VEC(q)] = d[VEC(q)] = ZEROS;
    BARRIER; /* a target may have no residues */
    for (int x = t->longest; x > 0; x--) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x - SABOTAGE);
        backward_row(team, m, i, d, &s, length == (float)x, ends, &emission);
        const reals forward_scale = BROADCAST(slots[SLOT_AT(x * N_SLOTS + SLOT_SCALE)]);
        const reals scale = scale_backward(team, m, i, d, &s, &own, forward_scale);
        decode_specials(slots, x, s, scale, ends->loop);
    }
    const emission_t emission = emissions_at(team, t->codes, t->length, 0);
    per_lane_t factor;
    s = before_first(team, m, s, ends, &emission);
    slots[SLOT_AT(SLOT_B)] = GATHER(BROADCAST(slots[SLOT_AT(SLOT_B)]) * s.b);
    factor.v = quotient((reals)(1.0f), s.n);
    return factor;
}

__kernel KERNEL_ATTRIBUTES
void decoding(__global const uchar *codes, __global const int *offsets, __global const int *order, const uint n,
            __global const int *model_of, __global const int *models, table_t transitions, table_t emissions,
            const int row_room, const int longest, __global uint *next, row_t rows, slots_t slots,
            __global float *scores, __global float *expected, __global int *regions)
{
    DECLARE_TEAM(team);
    row_t m = ROWS_OF_TEAM(rows, row_room);
    slots += TEAM_NUMBER * SLOT_AT((longest + 1) * N_SLOTS) + SLOT_LANE;
    for (uint first = TAKE_NEXT(&team, next); first < n; first = TAKE_NEXT(&team, next)) {
        targets_t t;
        take_model(&team, models + N_MODEL_NUMBERS * model_of[order[first]], transitions, emissions);
        row_t i = m + VEC(team.vectors), d = i + VEC(team.vectors);
        for (int s = 0; s < PROBLEMS; s++) {
            const int row = first + s < n ? order[first + s] : -1, start = row < 0 ? 0 : offsets[row];
            place_target(&t, s, row, row < 0 ? 0 : offsets[row + 1] - start, codes + start);
        }
        const length_model_t ends = length_model_for(t.length, 0);
        forward_targets(&team, &t, m, 0, 0, 0, 0, 0, slots, &ends);
        const per_lane_t factor = backward_targets(&team, &t, m, i, d, slots, &ends);
        BARRIER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int row = t.place[s];
            if (row < 0 || !IS_LEADER) continue;
            scores[row] = t.score[s];
            expected[row] = t.length[s] == 0 ? 0.0f
                : find_regions(RAW_SLOTS(slots, s), t.length[s], OF_PROBLEM(factor, s), regions + offsets[row]);
        }
        BARRIER;
    }
}
