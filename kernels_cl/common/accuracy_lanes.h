/* A row of sums of an optimal accuracy alignment, by work-items that share a problem: what envelope_simd4.cl asks for,
   for GPUs. See common/local_rows_lanes.h. */

#include "common/accuracy_traceback.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

/* The sums of the next row are `flip` further on. */
typedef struct { row_t m, i, d, used_m, used_i; int flip; } sums_t;

CALL sums_t sums_in(const team_t *team, row_t rows)
{
    const int row = VEC(team->vectors);
    return (sums_t){rows, rows + row, rows + 2 * row, rows + 6 * row, rows + 7 * row, 3 * row};
}

/* Carry deletes from lane to lane, given the best that leaves each lane and whether that is a delete. */
CALL void delete_across_lanes(const team_t *team, row_t d, cells_t cells, float leaving, int is_delete)
{
    for (int round = 0; round < 4; round++) {
        is_delete = SHIFT_UP(team, is_delete ? 1.0f : 0.0f, 0.0f) > 0.0f;
        leaving = SHIFT_UP(team, leaving, -INFINITY);
        if (!lane_any(leaving > -INFINITY, team->lane, team->scratch)) return;
        for (int q = 0; q < team->vectors && leaving > -INFINITY; q++) {
            if (!(leaving > d[VEC(q)])) {
                leaving = -INFINITY;
                break;
            }
            d[VEC(q)] = leaving;
            cells[VEC(q)] = (cells[VEC(q)] & ~BEST_D_FROM_D) | (is_delete ? BEST_D_FROM_D : 0);
            leaving = IF_POSSIBLE(team, q, DD, leaving);
            is_delete = 1;
        }
    }
}

/* What is known of a cell besides where its sums came from: whether a delete may follow its match, or its delete. */
enum { MAY_OPEN_D = 16, MAY_EXTEND_D = 32, CELL_MASK = 15 };

/* Deletes along a lane, given M; what is known of the cells is in `d`, which gets the sums of D. */
CALL void chain_of_sums(row_t m, row_t d, cells_t cells, int q, int n, float *chain, int *is_delete)
{
    float match[CELLS_AT_ONCE];
    int known[CELLS_AT_ONCE];
#pragma unroll
    for (int k = 0; k < n; k++) {
        match[k] = m[VEC(q + k)];
        known[k] = (int)d[VEC(q + k)];
    }
#pragma unroll
    for (int k = 0; k < n; k++) {
        cells[VEC(q + k)] = (uchar)((known[k] & CELL_MASK) | (*is_delete ? BEST_D_FROM_D : 0));
        d[VEC(q + k)] = *chain;
        const float deleted = known[k] & MAY_OPEN_D ? match[k] : -INFINITY;
        const float skipped = known[k] & MAY_EXTEND_D ? *chain : -INFINITY;
        *is_delete = skipped > deleted;
        *chain = SABOTAGE ? deleted : LARGER(deleted, skipped);
        *chain = LARGER(*chain, 0.0f);
    }
}

CALL reals accuracy_row(const team_t *team, sums_t *sums, grid pairs_m, grid pairs_i, reals by, reals b, cells_t cells,
                        reals *at)
{
    row_t old_m = sums->m, old_i = sums->i, old_d = sums->d;
    row_t m = sums->m += sums->flip, i = sums->i += sums->flip, d = sums->d += sums->flip;
    sums->flip = -sums->flip;
    float best = -INFINITY;
    int best_at = -1;
    EACH_CELL(team, q) {
        const float left_m = value_before(team, old_m, q, -INFINITY), left_i = value_before(team, old_i, q, -INFINITY);
        const float left_d = value_before(team, old_d, q, -INFINITY), own_m = old_m[VEC(q)], own_i = old_i[VEC(q)];
        const float by_m = IF_POSSIBLE(team, q, MM, left_m), by_i = IF_POSSIBLE(team, q, IM, left_i);
        const float by_d = IF_POSSIBLE(team, q, DM, left_d);
        float v = LARGER(by_m, by_i);
        v = LARGER(v, by_d);
        v = LARGER(v, IF_POSSIBLE(team, q, BM, b));
        int cell = v == by_d ? BEST_FROM_D : BEST_FROM_B;
        cell = v == by_i ? BEST_FROM_I : cell;
        cell = v == by_m ? BEST_FROM_M : cell;
        const float opened = IF_POSSIBLE(team, q, MI, own_m), extended = IF_POSSIBLE(team, q, II, own_i);
        cell |= extended > opened ? BEST_I_FROM_I : 0;
        cell |= (TRANS(team, q, MD) > 0.0f ? MAY_OPEN_D : 0) | (TRANS(team, q, DD) > 0.0f ? MAY_EXTEND_D : 0);
        const float posterior_m = pairs_m[VEC(q)] * by, posterior_i = pairs_i[VEC(q)] * by;
        sums->used_m[VEC(q)] = sums->used_m[VEC(q)] + posterior_m;
        sums->used_i[VEC(q)] = sums->used_i[VEC(q)] + posterior_i;
        v = LARGER(v, 0.0f) + posterior_m;
        const float inserted = LARGER(opened, extended);
        m[VEC(q)] = v;
        i[VEC(q)] = LARGER(inserted, 0.0f) + posterior_i;
        d[VEC(q)] = (float)cell;
        best_at = v >= best ? q * 4 + (int)team->lane % 4 : best_at;
        best = LARGER(best, v);
    }
    BARRIER;
    float chain = -INFINITY;
    int is_delete = 0;
    if (IS_ONE_OF_FOUR(team)) {
        int q = 0;
        for (; q + CELLS_AT_ONCE <= team->vectors; q += CELLS_AT_ONCE)
            chain_of_sums(m, d, cells, q, CELLS_AT_ONCE, &chain, &is_delete);
        for (; q < team->vectors; q++) chain_of_sums(m, d, cells, q, 1, &chain, &is_delete);
    }
    delete_across_lanes(team, d, cells, chain, is_delete);
    /* No sum is negative, so numbers are in the order of their bits. */
    const float e = as_float(lane_max(as_int(best), team->lane, team->scratch));
    *at = (float)lane_max(best == e ? best_at : -1, team->lane, team->scratch);
    BARRIER;
    return e;
}
