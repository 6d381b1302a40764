/* Posteriors or expected counts of pair HMMs: the shape for GPUs.

   A work-group is LANES lanes, which share a pair and take one pair after the other. The rows of a pair (residues of x,
   from 0) are cut into strips of ROWS * LANES; each lane has ROWS of a strip, in registers, and is a column (of y, from
   0) behind the lane above it, so that a shuffle brings what is above its first row. Forward keeps what is below each
   strip; then, from the last strip to the first, Forward is computed again with all numbers kept, and Backward, for
   which the lanes stand the other way round, from the last column to the first.

   What they are computed in: common/pair_hmm.h; each lane has a unit of its own, set anew in its first column, where
   only gaps lead from row to row, and after each block of four columns. (Within a block the chain of D would have to be
   scaled, too; in the first column it is 0, but in the lane where all paths begin, which needs no unit there.)

   Buffers: those of pair_hmm_vector.cl, but
     scratch   float[groups][room]

   Macros
     LANES, LANE_BACKEND   see common/lanes.h
     ROWS       of a lane
     SETS, COUNTS, SABOTAGE   as there

   Geometry: work-groups of LANES, as many as the device holds; they take pairs from a counter. */

#include "common/pair_hmm_lanes.h"

/* Forward of a strip; what is below it goes to its edges, and all of it to `states` if it is to be kept. */
CALL void forward_strip(const hmm_team_t *p, const lane_steps_t *f, int strip, int is_kept)
{
    __global const int *above = strip ? p->edges + (size_t)(strip - 1) * N_EDGES * (p->width + 1) : 0;
    __global int *below = p->edges + (size_t)strip * N_EDGES * (p->width + 1);
    const int first = (strip * LANES + (int)p->lane) * ROWS;
    float x[ROWS], corner = 1.0f;
    lane_chain_t chains[SETS];
    int letters[ROWS], handed[N_EDGES] = {0}, taken[N_EDGES], unit = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        letters[r] = letter_of_row(p, first + r) * ODDS_COLUMNS;
        x[r] = 1.0f; /* what goes into M of Start; no other M is in column 0 */
    }
    clear_chains(chains);
    for (int s = 0; s < p->width + LANES - 1; s++) {
        const int j = s - (int)p->lane, is_inside = j >= 0 && j < p->width;
        __local const float *odds = p->odds + p->columns[clamp(j, 0, p->width - 1)];
        __global float *states = p->states + (size_t)s * LANES * N_STEP_WORDS + p->lane;
        take_edges(p, above, min(s, p->width - 1), handed, taken);
        const int unit_above = taken[N_EDGES - 1];
        if (j == 0) unit = unit_above;
        const float ratio = power_of_2(unit_above - unit);
        float diagonal = corner, y[SETS], largest = 0.0f;
        corner = j < 0 ? 1.0f : as_float(taken[0]) * ratio;
#pragma unroll
        for (int k = 0; k < SETS; k++) y[k] = as_float(taken[1 + k]) * ratio;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const float m = odds[letters[r]] * diagonal;
            float next = f->match * m;
            diagonal = x[r];
            if (is_kept) states[r * N_STATES * LANES] = m;
#pragma unroll
            for (int k = 0; k < SETS; k++) {
                const float i = y[k], d = chains[k].next[r], opened = f->opens[k] * m;
                if (is_kept) states[(r * N_STATES + 1 + 2 * k) * LANES] = i;
                if (is_kept) states[(r * N_STATES + 2 + 2 * k) * LANES] = d;
                next = FUSED(f->closes[k], i + (SABOTAGE == 1 ? i : d), next);
                y[k] = FUSED(f->extends[k], i, opened);
                go_on(chains + k, r, opened, f->extends[k], j & 3);
                if (!is_inside) chains[k].next[r] = 0.0f;
            }
            if (first + r == 0 && j == 0) next += f->end; /* Start goes to M rather than to the end */
            x[r] = is_inside ? next : 1.0f;
            largest = LARGER(largest, next);
        }
        if (is_kept) ((__global int *)states)[ROWS * N_STATES * LANES] = unit;
        const int is_set = is_inside && ((j & 3) == 3 || (j == 0 && first > 0));
        const int grown = is_set ? exponent_of(largest) : 0;
        const float factor = power_of_2(-grown);
        unit += grown;
        corner *= factor;
#pragma unroll
        for (int k = 0; k < SETS; k++) handed[1 + k] = as_int(y[k] * factor);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            x[r] *= factor;
#pragma unroll
            for (int k = 0; k < SETS; k++) chains[k].next[r] *= factor;
        }
        handed[0] = as_int(x[ROWS - 1]);
        handed[N_EDGES - 1] = unit;
        if (is_inside) leave_edges(p, below, j, handed);
    }
    TEAM_BARRIER;
}

/* Backward of a strip, of which Forward has kept all. Here lanes count from the last row to the first.

   What is small in the unit of Forward and in that of Backward may together be too small for a number, so that it is
   scaled in two steps. Where both units are too large for a probability, as below the last row, Backward is 0. */
CALL void backward_strip(const hmm_team_t *p, const lane_steps_t *f, int strip, __global float *results,
                         back_sums_t *sums)
{
    const int lane_ahead = LANES - 1 - (int)p->lane, first = (strip * LANES + lane_ahead) * ROWS;
    const int is_last = strip == p->n_strips - 1, exponent = (int)results[EXPONENT];
    const float over_total = reciprocal_of(results[MANTISSA]);
    float z[ROWS], corner = 0.0f;
    lane_chain_t chains[SETS];
    int letters[ROWS], n_of_row[ROWS], handed[N_EDGES] = {0}, taken[N_EDGES], unit = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        letters[r] = letter_of_row(p, first + r) * ODDS_COLUMNS;
        z[r] = 0.0f;
        n_of_row[r] = 0;
    }
    clear_chains(chains);
    for (int s = 0; s < p->width + LANES - 1; s++) {
        const int j = p->width - 1 - s + (int)p->lane, is_inside = j >= 0 && j < p->width;
        __local const float *odds = p->odds + p->columns[clamp(j, 0, p->width - 1)];
        __global const float *states = p->states + (size_t)(j + lane_ahead) * LANES * N_STEP_WORDS + lane_ahead;
        /* Columns that are not read any more the last lane writes; the one too many nobody does. */
        take_edges(p, is_last ? 0 : p->edges_back, s < p->width ? p->width - 1 - s : p->width, handed, taken);
        if (j == p->width - 1) unit = taken[N_EDGES - 1];
        const float ratio = power_of_2(taken[N_EDGES - 1] - unit);
        const int unit_ahead = ((__global const int *)states)[ROWS * N_STATES * LANES];
        const int by = min(unit_ahead + unit - exponent, MAX_SCALE);
        const float ahead = power_of_2(by >> 1), scale = power_of_2(by - (by >> 1)) * over_total;
        float diagonal = corner, v[SETS], extended[SETS] = {0}, closing[SETS] = {0}, largest = 0.0f;
        corner = is_inside ? as_float(taken[0]) * ratio : 0.0f;
#pragma unroll
        for (int k = 0; k < SETS; k++) v[k] = as_float(taken[1 + k]) * ratio;
#pragma unroll
        for (int r = ROWS - 1; r >= 0; r--) {
            const float m = diagonal, last = first + r == p->m && j == p->width - 1 ? f->end : 0.0f;
            const int is_start = first + r == 0 && j == 0;
            float from_match = FUSED(f->match, m, last);
            diagonal = z[r];
#pragma unroll
            for (int k = 0; k < SETS; k++) {
                const float w = chains[k].next[r], closed = FUSED(f->closes[k], m, last);
                const float i = states[(r * N_STATES + 1 + 2 * k) * LANES] * ahead;
                const float d = states[(r * N_STATES + 2 + 2 * k) * LANES] * ahead;
                from_match = FUSED(f->opens[k], v[k] + w, from_match);
                extended[k] = FUSED(d, w, FUSED(i, v[k], extended[k]));
                closing[k] = FUSED(i + d, m, closing[k]);
                if (is_start) results[STARTS + k] = f->opens[k] * (v[k] + w) * ahead * scale;
                v[k] = FUSED(f->extends[k], v[k], closed);
                go_on(chains + k, r, closed, f->extends[k], 3 - (j & 3));
                if (!is_inside) chains[k].next[r] = 0.0f;
                largest += v[k];
            }
            if (is_start) results[BACKWARDS] = FUSED(f->end, m, from_match) * ahead * scale;
            const float match = states[r * N_STATES * LANES] * ahead * from_match * scale;
            if (is_inside) keep_match(p, sums, first + r, j, match, r, n_of_row + r);
            z[r] = is_inside ? odds[letters[r]] * from_match : 0.0f;
            largest += from_match;
        }
        if (COUNTS && is_inside) add_steps(f, extended, closing, scale, sums);
        const int is_set = is_inside && ((j & 3) == 0 || (j == p->width - 1 && first + ROWS <= p->m));
        const int grown = is_set ? exponent_of(largest) : 0;
        const float factor = power_of_2(-grown);
        unit += grown;
        corner *= factor;
#pragma unroll
        for (int k = 0; k < SETS; k++) handed[1 + k] = is_inside ? as_int(v[k] * factor) : 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            z[r] *= factor;
#pragma unroll
            for (int k = 0; k < SETS; k++) chains[k].next[r] *= factor;
        }
        handed[0] = as_int(z[0]);
        handed[N_EDGES - 1] = unit;
        if (is_inside) leave_edges(p, p->edges_back, j, handed);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (!COUNTS && first + r >= 1 && first + r <= p->m) p->row_ends[first + r - 1] = n_of_row[r];
    TEAM_BARRIER;
}

/* Forward and Backward of all strips. */
CALL void both_ways(const hmm_team_t *p, const lane_steps_t *f, __global float *results, back_sums_t *sums,
                    __local long *matches, __local long *scratch)
{
    for (int s = 0; s < p->n_strips; s++) forward_strip(p, f, s, s == p->n_strips - 1);
    if (p->lane == 0) write_last_cell(p, f, results);
    TEAM_BARRIER;
#pragma unroll
    for (int k = 0; k < SETS; k++) sums->extends[k] = sums->closes[k] = 0;
    for (int c = p->lane; COUNTS && c < p->n_letters * p->n_letters; c += LANES) matches[c] = 0;
    for (int s = p->n_strips - 1; s >= 0; s--) {
        if (s < p->n_strips - 1) forward_strip(p, f, s, 1);
        for (int c = p->lane; COUNTS && c < ROWS * ODDS_COLUMNS * LANES; c += LANES) sums->shares[c] = 0;
        TEAM_BARRIER;
        backward_strip(p, f, s, results, sums);
        if (COUNTS) add_shares(p, sums->shares, s, matches);
    }
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        const long extended = team_sum(p, sums->extends[k], scratch);
        const long closed = team_sum(p, sums->closes[k], scratch);
        if (p->lane == 0) results[EXTENDS + k] = (float)extended * (1.0f / OF_STEPS);
        if (p->lane == 0) results[CLOSES + k] = (float)closed * (1.0f / OF_STEPS);
    }
}

__kernel LANE_ATTRIBUTES __attribute__((reqd_work_group_size(LANES, 1, 1)))
void pair_hmm(PAIR_HMM_PARAMETERS(float))
{
    __local int exchange[LANES], n_found;
    __local uint taken, first;
    __local float table[(MAX_LETTERS + 2) * ODDS_COLUMNS];
    __local int shares[COUNTS ? ROWS * ODDS_COLUMNS * LANES : 1];
    __local long of_letters[COUNTS ? MAX_LETTERS * MAX_LETTERS : 1], of_lanes[LANES];
    const uint lane = get_local_id(0);
    for (;;) {
        TEAM_BARRIER; /* all have read what was taken last */
        if (lane == 0) taken = atomic_inc(next);
        if (lane == 0) n_found = 0;
        TEAM_BARRIER;
        const uint row = taken;
        if (row >= n) return;
        const int8 place = pairs[row];
        hmm_team_t pair = {place.s1, place.s3 + 1, place.s1 / (LANES * ROWS) + 1, n_letters, lane, exchange, table,
                           queries + place.s0, letters};
        lane_steps_t factors;
        lay_team_out(&pair, scratch + get_group_id(0) * room);
        fill_tables(&pair, targets + place.s2, odds + place.s5 * n_letters * n_letters);
        load_lane_steps(&factors, steps + row * N_STEPS);
#if COUNTS
        back_sums_t sums = {.shares = shares};
        both_ways(&pair, &factors, results + row * N_HMM_RESULTS, &sums, of_letters, of_lanes);
        for (int c = lane; c < n_letters * n_letters; c += LANES)
            matches[(size_t)row * n_letters * n_letters + c] = (float)of_letters[c] * (1.0f / OF_MATCH);
#else
        back_sums_t sums = {.n_found = &n_found, .most = place.s6, .least = least};
        both_ways(&pair, &factors, results + row * N_HMM_RESULTS, &sums, of_letters, of_lanes);
        TEAM_BARRIER;
        const uint of_pair = n_found;
        if (lane == 0) {
            first = of_pair <= place.s6 ? atomic_add(next + 1, of_pair) : n_entries;
            found[row] = (uint2)(of_pair, first);
        }
        TEAM_BARRIER;
        if (of_pair <= place.s6 && of_pair <= n_entries - min(first, n_entries))
            write_entries(&pair, of_pair, entries + first, values + first, gaps + place.s7);
#endif
    }
}
