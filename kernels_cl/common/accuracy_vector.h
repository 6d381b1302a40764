/* A row of sums of an optimal accuracy alignment, in vectors: what envelope_simd4.cl asks for, for CPUs. */

#include "common/accuracy_traceback.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

typedef struct { row_t m, i, d, used_m, used_i; } sums_t;

CALL sums_t sums_in(const team_t *team, row_t rows)
{
    const size_t row = VEC(team->vectors);
    return (sums_t){rows, rows + row, rows + 2 * row, rows + 3 * row, rows + 4 * row};
}

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

CALL reals accuracy_row(const team_t *team, const sums_t *sums, grid pairs_m, grid pairs_i, reals by, reals b, cells_t cells,
                        reals *at)
{
    const int last = VEC(team->vectors - 1);
    reals left_m = SHIFT_UP(team, sums->m[last], -INFINITY), left_i = SHIFT_UP(team, sums->i[last], -INFINITY);
    reals left_d = SHIFT_UP(team, sums->d[last], -INFINITY);
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
        left_m = sums->m[VEC(q)];
        left_i = sums->i[VEC(q)];
        left_d = sums->d[VEC(q)];
        const reals opened = IF_POSSIBLE(team, q, MI, left_m), extended = IF_POSSIBLE(team, q, II, left_i);
        cell |= extended > opened ? (masks)(BEST_I_FROM_I) : (masks)(0);
        cell |= is_delete ? (masks)(BEST_D_FROM_D) : (masks)(0);
        const reals posterior_m = pairs_m[VEC(q)] * by, posterior_i = pairs_i[VEC(q)] * by;
        sums->used_m[VEC(q)] = sums->used_m[VEC(q)] + posterior_m;
        sums->used_i[VEC(q)] = sums->used_i[VEC(q)] + posterior_i;
        v = LARGER(v, ZEROS) + posterior_m;
        const reals inserted = LARGER(opened, extended);
        sums->m[VEC(q)] = v;
        sums->i[VEC(q)] = LARGER(inserted, ZEROS) + posterior_i;
        sums->d[VEC(q)] = chain;
        cells[VEC(q)] = TO_BYTES(cell);
        best_at = v >= best ? (reals)((float)q) : best_at;
        best = LARGER(best, v);
        const reals deleted = IF_POSSIBLE(team, q, MD, v), skipped = IF_POSSIBLE(team, q, DD, chain);
        is_delete = skipped > deleted;
        chain = SABOTAGE ? deleted : LARGER(deleted, skipped);
        chain = LARGER(chain, ZEROS);
    }
    delete_across_lanes(team, sums->d, cells, chain, is_delete);
    const reals e = highest(team, best);
    *at = highest(team, best == e ? best_at * 4.0f + LANE_OF_FOUR(team) : (reals)(-1.0f));
    return e;
}
