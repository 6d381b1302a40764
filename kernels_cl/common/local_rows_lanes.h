/* Rows of HMMER3's Forward and Backward by work-items that share a problem: what common/local_rows.h promises, for GPUs.

   Each work-item has every (LANES / 4)-th cell of a lane. Where one cell follows from the next, as deletes do, and in
   sums, whose order HMMER sets, four of them go through a lane each, while the others wait. */

#include "common/local_model.h"

/* Cells that are read before the first of them is worked on, so that memory is waited for once. */
#define CELLS_AT_ONCE 8

/* A loop over the cells of a work-item of which several are read at once: what it writes is local. */
#define EACH_CELL(team, q) _Pragma("unroll 4") EACH_VECTOR(team, q)

/* M, I and D of the last row, those of the next one `flip` further on, the transitions from D to D, and where rows are
   kept. */
typedef struct {
    row_t m, i, d, further;
    int flip;
    grid kept_m, kept_i, kept_d;
    int stride, d_stride;
} forward_t;

/* The number of the cell before in a row, or after. Places are chosen, not ways, so that loops can be unrolled. */
CALL float value_before(const team_t *team, row_t row, int q, float fill)
{
    const int lane = team->lane % 4, is_first = q == 0 && lane == 0;
    const float v = row[q > 0 ? VEC(q - 1) : is_first ? 0 : VEC(team->vectors - 1) - 1];
    return is_first ? fill : v;
}

CALL float value_after(const team_t *team, row_t row, int q)
{
    const int lane = team->lane % 4, is_end = q + 1 == team->vectors, is_last = is_end && lane == 3;
    const float v = row[is_last ? 0 : is_end ? 1 : VEC(q + 1)];
    return is_last ? 0.0f : v;
}

/* A transition into the node after a cell. */
CALL float transition_after(const team_t *team, int q, int which)
{
    const int lane = team->lane % 4, is_end = q + 1 == team->vectors, is_last = is_end && lane == 3;
    const int place = (is_end ? 0 : q + 1) * N_LOCAL_TRANSITIONS + which;
    const float v = team->transitions[place * 4 + (is_last ? 0 : lane + is_end)];
    return is_last ? 0.0f : v;
}

/* The sum of what the four have, for all. */
CALL float total_of_four(const team_t *team, float v)
{
    return from_first(team, total(team, v));
}

/* Where the scratch rows have the transitions from D to D. */
CALL row_t further_in(const team_t *team, row_t rows)
{
    return rows + VEC(6 * team->vectors);
}

/* The sum of a lane's cells, one after the other from place `first` on, each `step` further. */
CALL float sum_of_cells(const team_t *team, row_t row, int first, int step, float sum)
{
    int k = 0;
    for (row += VEC(first); k + CELLS_AT_ONCE <= team->vectors; k += CELLS_AT_ONCE, row += VEC(CELLS_AT_ONCE * step)) {
        float v[CELLS_AT_ONCE];
#pragma unroll
        for (int j = 0; j < CELLS_AT_ONCE; j++) v[j] = row[VEC(j * step)];
#pragma unroll
        for (int j = 0; j < CELLS_AT_ONCE; j++) sum = sum + v[j];
    }
    for (; k < team->vectors; k++, row += VEC(step)) sum = sum + row[0];
    return sum;
}

CALL void keep_row(const team_t *team, forward_t *f)
{
    if (f->stride) {
        f->kept_m += VEC(f->stride);
        f->kept_i += VEC(f->stride);
        EACH_VECTOR(team, q) {
            f->kept_m[VEC(q)] = f->m[VEC(q)];
            f->kept_i[VEC(q)] = f->i[VEC(q)];
        }
    }
    if (f->d_stride) {
        f->kept_d += VEC(f->d_stride);
        EACH_VECTOR(team, q) f->kept_d[VEC(q)] = f->d[VEC(q)];
    }
}

CALL forward_t forward_at_start(const team_t *team, row_t rows, grid m, grid i, grid d, int stride, int d_stride)
{
    const int row = VEC(team->vectors);
    forward_t f = {rows, rows + row, rows + 2 * row, further_in(team, rows), 3 * row, m - VEC(stride), i - VEC(stride),
                   d - VEC(d_stride), stride, d_stride};
    EACH_VECTOR(team, q) {
        f.m[VEC(q)] = f.i[VEC(q)] = f.d[VEC(q)] = 0.0f;
        f.further[VEC(q)] = TRANS(team, q, DD);
    }
    keep_row(team, &f);
    BARRIER;
    return f;
}

/* Deletes that begin in each cell, in `d`, and those on their way: each cell gets what arrives there. `e` gets the sum
   of M, `leaving` what leaves a lane. */
CALL void chain_of_deletes(forward_t *f, int q, int n, float *opened, float *leaving, float *e)
{
    float match[CELLS_AT_ONCE], begun[CELLS_AT_ONCE], further[CELLS_AT_ONCE];
#pragma unroll
    for (int k = 0; k < n; k++) {
        match[k] = f->m[VEC(q + k)];
        begun[k] = f->d[VEC(q + k)];
        further[k] = f->further[VEC(q + k)];
    }
#pragma unroll
    for (int k = 0; k < n; k++) {
        *e = *e + match[k];
        const float v = *leaving + *opened;
        *opened = begun[k];
        f->d[VEC(q + k)] = v;
        *leaving = v * further[k];
    }
}

/* Deletes on their way through further lanes, given what leaves each lane. */
CALL void further_deletes(const team_t *team, row_t d, row_t further, float leaving)
{
    for (int round = 1; round < 4; round++) {
        leaving = SHIFT_UP(team, leaving, 0.0f);
        if (!lane_any(leaving > 0.0f, team->lane, team->scratch)) return;
        for (int q = 0; q < team->vectors && leaving > 0.0f; q++) {
            const float v = d[VEC(q)];
            if (!(leaving > v * NO_SHARE)) {
                leaving = 0.0f;
                break;
            }
            d[VEC(q)] = leaving + v;
            leaving = leaving * further[VEC(q)];
        }
    }
}

CALL reals forward_row(const team_t *team, forward_t *f, reals b, const emission_t *emission)
{
    row_t old_m = f->m, old_i = f->i, old_d = f->d;
    row_t m = f->m += f->flip, i = f->i += f->flip, d = f->d += f->flip;
    f->flip = -f->flip;
    EACH_CELL(team, q) {
        float v = b * TRANS(team, q, BM);
        v = v + value_before(team, old_m, q, 0.0f) * TRANS(team, q, MM);
        v = v + value_before(team, old_i, q, 0.0f) * TRANS(team, q, IM);
        v = v + value_before(team, old_d, q, 0.0f) * TRANS(team, q, DM);
        v = v * EMISSION_OF(team, *emission, q);
        m[VEC(q)] = v;
        d[VEC(q)] = v * TRANS(team, q, MD);
        i[VEC(q)] = old_m[VEC(q)] * TRANS(team, q, MI) + old_i[VEC(q)] * TRANS(team, q, II);
    }
    BARRIER;
    float e = 0.0f, opened = 0.0f, leaving = SHIFT_UP(team, d[VEC(team->vectors - 1)], 0.0f);
    if (IS_ONE_OF_FOUR(team)) {
        int q = 0;
        for (; q + CELLS_AT_ONCE <= team->vectors; q += CELLS_AT_ONCE)
            chain_of_deletes(f, q, CELLS_AT_ONCE, &opened, &leaving, &e);
        for (; q < team->vectors; q++) chain_of_deletes(f, q, 1, &opened, &leaving, &e);
    } else {
        leaving = 0.0f;
    }
    further_deletes(team, d, f->further, leaving);
    if (IS_ONE_OF_FOUR(team)) e = sum_of_cells(team, d, 0, 1, e);
    e = total_of_four(team, e);
    BARRIER;
    return e;
}

/* Deletes before a residue: those into M, in `d`, become all; `into_next` gets what leaves a lane. */
CALL void chain_before(row_t d, row_t further, int q, int n, float e, float *leaving, float *into_next)
{
    float matched[CELLS_AT_ONCE], factor[CELLS_AT_ONCE];
#pragma unroll
    for (int k = 0; k < n; k++) {
        matched[k] = d[VEC(q - k)];
        factor[k] = further[VEC(q - k)];
    }
#pragma unroll
    for (int k = 0; k < n; k++) {
        *into_next = *leaving * factor[k];
        *leaving = matched[k] + (*into_next + e);
        d[VEC(q - k)] = *leaving;
    }
}

CALL void further_deletes_before(const team_t *team, row_t d, row_t further, float into_next)
{
    for (int round = 1; round < 4; round++) {
        into_next = SHIFT_DOWN(team, into_next, 0.0f);
        if (!lane_any(into_next > 0.0f, team->lane, team->scratch)) return;
        for (int q = team->vectors - 1; q >= 0 && into_next > 0.0f; q--) {
            const float v = d[VEC(q)];
            into_next = into_next * further[VEC(q)];
            if (!(into_next > v * NO_SHARE)) {
                into_next = 0.0f;
                break;
            }
            d[VEC(q)] = v + into_next;
        }
    }
}

/* M, I and D lie one after the other where Forward had its rows; two more of these are used, and the transitions. */
CALL void backward_row(const team_t *team, row_t m, row_t i, row_t d, local_specials_t *s, masks at_end,
                       const length_model_t *ends, const emission_t *emission)
{
    row_t matched = d + VEC(team->vectors), started = matched + VEC(team->vectors), further = further_in(team, m);
    EACH_CELL(team, q) matched[VEC(q)] = m[VEC(q)] * EMISSION_OF(team, *emission, q);
    BARRIER;
    EACH_CELL(team, q) {
        const float old_i = i[VEC(q)], following = value_after(team, matched, q);
        i[VEC(q)] = old_i * TRANS(team, q, II) + following * transition_after(team, q, IM);
        d[VEC(q)] = following * transition_after(team, q, DM);
        m[VEC(q)] = old_i * TRANS(team, q, MI) + following * transition_after(team, q, MM);
        started[VEC(q)] = matched[VEC(q)] * TRANS(team, q, BM);
    }
    BARRIER;
    const float begun = IS_ONE_OF_FOUR(team) ? sum_of_cells(team, started, team->vectors - 1, -1, 0.0f) : 0.0f;
    const float e = local_specials_before(s, total_of_four(team, begun), at_end, ends);
    float leaving = SHIFT_DOWN(team, d[0] + e, 0.0f), into_next = 0.0f;
    if (IS_ONE_OF_FOUR(team)) {
        int q = team->vectors - 1;
        for (; q + 1 >= CELLS_AT_ONCE; q -= CELLS_AT_ONCE)
            chain_before(d, further, q, CELLS_AT_ONCE, e, &leaving, &into_next);
        for (; q >= 0; q--) chain_before(d, further, q, 1, e, &leaving, &into_next);
    }
    further_deletes_before(team, d, further, into_next);
    BARRIER;
    EACH_CELL(team, q) m[VEC(q)] = (m[VEC(q)] + e) + value_after(team, d, q) * TRANS(team, q, MD);
    BARRIER;
}

/* Multiply kept rows by others; several of their cells are read at once. */
CALL void multiply_kept(const team_t *team, grid kept_m, grid kept_i, row_t m, row_t i)
{
    const int step = LANES / 4;
    int q = (int)team->lane / 4;
    for (; q + 3 * step < team->vectors; q += 4 * step) {
        float a[4], b[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            a[k] = kept_m[VEC(q + k * step)];
            b[k] = kept_i[VEC(q + k * step)];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            kept_m[VEC(q + k * step)] = a[k] * m[VEC(q + k * step)];
            kept_i[VEC(q + k * step)] = b[k] * i[VEC(q + k * step)];
        }
    }
    for (; q < team->vectors; q += step) {
        kept_m[VEC(q)] = kept_m[VEC(q)] * m[VEC(q)];
        kept_i[VEC(q)] = kept_i[VEC(q)] * i[VEC(q)];
    }
}
