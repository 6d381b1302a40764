/* Envelopes: Forward score, posterior probabilities, optimal accuracy alignment and composition.

   Buffers
     codes       uchar[n_residues]               letter codes, sequence after sequence
     parts       int[n][3]                       each envelope: its first code, its length, that of its target
     order       int[n]                          the envelopes as they are taken, a team's of one model; -1 for none
     text_at     int[n + 1]                      where the text of each begins: its length + that of the profile
     model_of    int[]                           the model of each envelope
     models, transitions, emissions              see common/local_rows.h
     residues    uchar[n_kinds]                  letter codes of the unambiguous residues
     next        uint[1]                         in: 0; the next envelope to be taken
     rows        float[n items][8][most_vectors][LANES]   scratch: M, I, D of a row, of the sums, the uses of M and I
     pairs       float[n items][2][room][LANES]  scratch: Forward, then its products with Backward
     cells       uchar[n items][room][LANES]     scratch, where each sum came from
     slots       float[n items][longest + 1][N_SLOTS][SLOT_LANES]   scratch, see common/local_rows.h
     scores      float[n][2]                     out: Forward score in nats, expected number of correct residues
     ratios      float[n][n_kinds]               out: how much likelier each residue is than in the background
     begins      int[n][3]                       out: first residue and node of the alignment, counted from 0, and where
                                                 its text begins; -1 there on overflow
     states, posteriors   uchar[]           out: state and posterior probability of each step of the alignment
     certainty   float[]                         out, instead of `posteriors`: from where the text of an envelope begins,
                                                 the posterior probability of each residue, be it aligned or outside

   Macros
     LANES, LANE_BACKEND   see common/simd4.h
     CERTAINTY             1: `certainty` is asked for
     SABOTAGE              1 plants a fault, for the test of the tests

   Geometry: see common/simd4.h; teams take their problems from a counter and run as far as the longest of them. */

#include "common/accuracy_traceback.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* Best sums of M, I, D up to a row; sums of the posterior probabilities of M and I over the rows. */
typedef struct { grid m, i, d, used_m, used_i; } sums_t;

/* `v` where a transition is possible. */
#define IF_POSSIBLE(team, q, which, v) (TRANS(team, q, which) > 0.0f ? (v) : NEGATIVE_INFINITY)

/* Carry deletes from lane to lane, given the best that leaves each lane and whether that is a delete. */
CALL void delete_across_lanes(const team_t *team, grid d, cells_t cells, reals leaving, masks is_delete)
{
    for (int round = 0; round < 4; round++) {
        const reals flags = is_delete ? (reals)(1.0f) : ZEROS;
        is_delete = SHIFT_UP(team, flags, 0.0f) > 0.0f;
        leaving = SHIFT_UP(team, leaving, -INFINITY);
        for (int q = 0; q < team->vectors; q++) {
            const masks raised = leaving > d[VEC(q)];
            if (!any_of(team, raised)) return;
            d[VEC(q)] = raised ? leaving : d[VEC(q)];
            const masks cell = FROM_BYTES(cells[VEC(q)]);
            const masks flag = is_delete ? (masks)(BEST_D_FROM_D) : (masks)(0);
            cells[VEC(q)] = TO_BYTES(raised ? (cell & ~BEST_D_FROM_D) | flag : cell);
            leaving = IF_POSSIBLE(team, q, DD, leaving);
            is_delete = (masks)(-1);
        }
    }
}

/* The sums up to a residue, in place, and where each came from. `pairs_m`, `pairs_i`: products of Forward and Backward,
   which are probabilities once multiplied by `by`. Returns the best M; `at` gets its place in the striped order. */
CALL reals accuracy_row(const team_t *team, sums_t sums, grid pairs_m, grid pairs_i, reals by, reals b, cells_t cells,
                        reals *at)
{
    const int last = VEC(team->vectors - 1);
    reals left_m = SHIFT_UP(team, sums.m[last], -INFINITY), left_i = SHIFT_UP(team, sums.i[last], -INFINITY);
    reals left_d = SHIFT_UP(team, sums.d[last], -INFINITY);
    reals best = NEGATIVE_INFINITY, best_at = ZEROS, chain = NEGATIVE_INFINITY;
    masks is_delete = (masks)(0);
    for (int q = 0; q < team->vectors; q++) {
        const reals by_m = IF_POSSIBLE(team, q, MM, left_m), by_i = IF_POSSIBLE(team, q, IM, left_i);
        const reals by_d = IF_POSSIBLE(team, q, DM, left_d), by_b = IF_POSSIBLE(team, q, BM, b);
        reals v = LARGER(by_m, by_i);
        v = LARGER(v, by_d);
        v = LARGER(v, by_b);
        masks cell = v == by_m ? (masks)(BEST_FROM_M) : v == by_i ? (masks)(BEST_FROM_I)
                   : v == by_d ? (masks)(BEST_FROM_D) : (masks)(BEST_FROM_B);
        left_m = sums.m[VEC(q)];
        left_i = sums.i[VEC(q)];
        left_d = sums.d[VEC(q)];
        const reals opened = IF_POSSIBLE(team, q, MI, left_m), extended = IF_POSSIBLE(team, q, II, left_i);
        cell |= extended > opened ? (masks)(BEST_I_FROM_I) : (masks)(0);
        cell |= is_delete ? (masks)(BEST_D_FROM_D) : (masks)(0);
        const reals posterior_m = pairs_m[VEC(q)] * by, posterior_i = pairs_i[VEC(q)] * by;
        sums.used_m[VEC(q)] = sums.used_m[VEC(q)] + posterior_m;
        sums.used_i[VEC(q)] = sums.used_i[VEC(q)] + posterior_i;
        v = LARGER(v, ZEROS) + posterior_m;
        const reals inserted = LARGER(opened, extended);
        sums.m[VEC(q)] = v;
        sums.i[VEC(q)] = LARGER(inserted, ZEROS) + posterior_i;
        sums.d[VEC(q)] = chain;
        cells[VEC(q)] = TO_BYTES(cell);
        best_at = v >= best ? (reals)((float)q) : best_at;
        best = LARGER(best, v);
        const reals deleted = IF_POSSIBLE(team, q, MD, v), skipped = IF_POSSIBLE(team, q, DD, chain);
        is_delete = skipped > deleted;
        chain = SABOTAGE ? deleted : LARGER(deleted, skipped);
        chain = LARGER(chain, ZEROS);
    }
    delete_across_lanes(team, sums.d, cells, chain, is_delete);
    const reals e = highest(team, best);
    *at = highest(team, best == e ? best_at * 4.0f + LANE_OF_FOUR(team) : (reals)(-1.0f));
    return e;
}

/* Backward of all problems: the pairs become its products with Forward; of each row, the products of N and C, what
   Forward was divided by (in the slot of E), and the quotient of the divisors stay. Returns 1 / N of the first row. */
CALL reals backward_products(const team_t *team, const targets_t *t, grid m, grid pairs_m, grid pairs_i, slots_t slots,
                   const length_model_t *ends)
{
    grid i = m + VEC(team->vectors), d = i + VEC(team->vectors);
    local_specials_t s = {ZEROS, ZEROS, ZEROS, ZEROS, ZEROS};
    masks own = (masks)(0);
    const reals length = from_each(t->length);
    for (int q = 0; q < team->vectors; q++) m[VEC(q)] = i[VEC(q)] = d[VEC(q)] = ZEROS;
    for (int x = t->longest; x > 0; x--) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        slots_t slot = slots + SLOT_AT(x * N_SLOTS), before = slot - SLOT_AT(N_SLOTS);
        const reals forward_scale = BROADCAST(slot[SLOT_AT(SLOT_SCALE)]);
        backward_row(team, m, i, d, &s, length == (float)x, ends, &emission);
        const reals scale = scale_backward(team, m, i, d, &s, &own, forward_scale);
        slot[SLOT_AT(SLOT_N)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_N)]) * s.n * ends->loop);
        slot[SLOT_AT(SLOT_C)] = GATHER(BROADCAST(before[SLOT_AT(SLOT_C)]) * s.c * ends->loop);
        slot[SLOT_AT(SLOT_E)] = GATHER(forward_scale);
        slot[SLOT_AT(SLOT_SCALE)] = GATHER(quotient(forward_scale, scale));
        grid row_m = pairs_m + VEC(x * team->vectors), row_i = pairs_i + VEC(x * team->vectors);
        for (int q = 0; q < team->vectors; q++) {
            row_m[VEC(q)] = row_m[VEC(q)] * m[VEC(q)];
            row_i[VEC(q)] = row_i[VEC(q)] * i[VEC(q)];
        }
    }
    const emission_t emission = emissions_at(team, t->codes, t->length, 0);
    return quotient((reals)(1.0f), before_first(team, m, s, ends, &emission).n);
}

/* What the alignments and the composition need of all rows. */
typedef struct { per_lane_t factor, best, exit_row, exit_at, used_n, used_c; } aligned_t;

/* The sums of all rows; what a product must be multiplied by is left in the slot of B, and for `CERTAINTY` the posterior
   probabilities of N and C in theirs. */
CALL aligned_t align(const team_t *team, const targets_t *t, sums_t sums, grid pairs_m, grid pairs_i, cells_t cells,
                     slots_t slots, reals factor)
{
    const reals length = from_each(t->length);
    reals b = ZEROS, c = NEGATIVE_INFINITY, exit_row = ZEROS, exit_at = ZEROS, used_n = ZEROS, used_c = ZEROS;
    for (int q = 0; q < team->vectors; q++) {
        sums.m[VEC(q)] = sums.i[VEC(q)] = sums.d[VEC(q)] = NEGATIVE_INFINITY;
        sums.used_m[VEC(q)] = sums.used_i[VEC(q)] = ZEROS;
    }
    for (int x = 1; x <= t->longest; x++) {
        slots_t slot = slots + SLOT_AT(x * N_SLOTS);
        const masks inside = length >= (float)x;
        const reals by = inside ? factor * BROADCAST(slot[SLOT_AT(SLOT_E)]) : ZEROS;
        const reals posterior_n = inside ? BROADCAST(slot[SLOT_AT(SLOT_N)]) * factor : ZEROS;
        const reals posterior_c = inside ? BROADCAST(slot[SLOT_AT(SLOT_C)]) * factor : ZEROS;
        reals at;
        const int row = VEC(x * team->vectors);
        const reals e = accuracy_row(team, sums, pairs_m + row, pairs_i + row, by, b,
                                     cells + row - VEC(team->vectors), &at);
        const reals stays = c + posterior_c;
        const masks leaves = inside & (stays <= e);
        slot[SLOT_AT(SLOT_B)] = GATHER(by);
        if (CERTAINTY) {
            slot[SLOT_AT(SLOT_N)] = GATHER(posterior_n);
            slot[SLOT_AT(SLOT_C)] = GATHER(posterior_c);
        }
        c = inside ? LARGER(stays, e) : c;
        exit_row = leaves ? (reals)((float)x) : exit_row;
        exit_at = leaves ? at : exit_at;
        b = b + posterior_n;
        used_n = used_n + posterior_n;
        used_c = used_c + posterior_c;
        factor = inside ? factor * BROADCAST(slot[SLOT_AT(SLOT_SCALE)]) : factor;
    }
    return (aligned_t){{factor}, {c}, {exit_row}, {exit_at}, {used_n}, {used_c}};
}

/* How much likelier each kind of residue is in the mean emissions of the states than in the background. */
CALL void compose(const team_t *team, const targets_t *t, sums_t sums, const aligned_t *a,
                  __global const uchar *residues, int n_kinds, __global float *ratios)
{
    const reals by = quotient((reals)(1.0f), from_each(t->length));
    const reals outside = a->used_n.v * by + a->used_c.v * by;
    for (int q = 0; q < team->vectors; q++) {
        sums.used_m[VEC(q)] = sums.used_m[VEC(q)] * by;
        sums.used_i[VEC(q)] = sums.used_i[VEC(q)] * by;
    }
    for (int kind = 0; kind < n_kinds; kind++) {
        table_t emission = team->emissions + TABLE_ROW(residues[kind] * team->vectors);
        per_lane_t ratio;
        reals sum = ZEROS;
        for (int q = 0; q < team->vectors; q++) {
            sum = sum + sums.used_m[VEC(q)] * NODES_OF(team, emission, q);
            sum = sum + sums.used_i[VEC(q)];
        }
        ratio.v = total(team, sum) + outside;
        for (int s = 0; s < PROBLEMS; s++)
            if (t->place[s] >= 0 && IS_LEADER) ratios[t->place[s] * n_kinds + kind] = OF_PROBLEM(ratio, s);
    }
}

__kernel KERNEL_ATTRIBUTES
void envelope(__global const uchar *codes, __global const int *parts, __global const int *order, const uint n,
             __global const int *text_at, __global const int *model_of, __global const int *models, table_t transitions,
             table_t emissions, const int most_vectors, const ulong room, const int longest,
             __global const uchar *residues, const int n_kinds, __global uint *next, grid rows, grid pairs,
             cells_t cells, slots_t slots, __global float *scores, __global float *ratios, __global int *begins,
             __global uchar *states, __global certainty_t *posteriors)
{
    DECLARE_TEAM(team);
    grid m = rows + TEAM_NUMBER * VEC(8 * most_vectors) + FIRST_LANE;
    grid pairs_m = pairs + TEAM_NUMBER * VEC(2 * room) + FIRST_LANE, pairs_i = pairs_m + VEC(room);
    cells += TEAM_NUMBER * VEC(room) + FIRST_LANE;
    slots += TEAM_NUMBER * SLOT_AT((longest + 1) * N_SLOTS) + FIRST_LANE;
    for (uint first = TAKE_NEXT(&team, next); first < n; first = TAKE_NEXT(&team, next)) {
        targets_t t;
        take_model(&team, models + N_MODEL_NUMBERS * model_of[order[first]], transitions, emissions);
        const size_t row = VEC(team.vectors);
        const sums_t sums = {m + 3 * row, m + 4 * row, m + 5 * row, m + 6 * row, m + 7 * row};
        int whole[PROBLEMS];
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = first + PROBLEM(s) < n ? order[first + PROBLEM(s)] : -1;
            __global const int *part = parts + 3 * (place < 0 ? 0 : place);
            whole[s] = part[2];
            place_target(&t, s, place, place < 0 ? 0 : part[1], codes + part[0]);
        }
        t.longest = LONGEST_OF_ALL(&team, t.longest);
        const length_model_t ends = length_model_for(whole, 1);
        forward_targets(&team, &t, pairs_m, pairs_i, m, team.vectors, 0, slots, &ends);
        const reals factor = backward_products(&team, &t, m, pairs_m, pairs_i, slots, &ends);
        const aligned_t a = align(&team, &t, sums, pairs_m, pairs_i, cells, slots, factor);
        compose(&team, &t, sums, &a, residues, n_kinds, ratios);
        BARRIER;
        for (int s = 0; s < PROBLEMS; s++) {
            const int place = t.place[s];
            if (place < 0 || !IS_LEADER) continue;
            const trace_t trace = {RAW_GRID(pairs_m + row, s), RAW_GRID(pairs_i + row, s), RAW_SLOTS(slots, s),
                                   RAW_CELLS(cells, s), team.vectors};
            int start[2] = {0, 0};
            const int exit_row = (int)OF_PROBLEM(a.exit_row, s), at = (int)OF_PROBLEM(a.exit_at, s);
            __global certainty_t *own = posteriors + (CERTAINTY ? text_at[place] : 0);
            begins[3 * place + 2] = isfinite(OF_PROBLEM(a.factor, s))
                ? alignment_traceback(&trace, exit_row, at, states, own, text_at[place + 1], start)
                : -1;
            for (int x = 1; CERTAINTY && x <= t.length[s]; x++)
                if (x <= start[0] || x > exit_row) own[x - 1] = SLOT(trace.slots, x, x <= start[0] ? SLOT_N : SLOT_C);
            begins[3 * place] = start[0];
            begins[3 * place + 1] = start[1];
            scores[2 * place] = t.score[s];
            scores[2 * place + 1] = OF_PROBLEM(a.best, s);
        }
        BARRIER;
    }
}
