/* Rows of HMMER3's Forward and Backward in vectors: what common/local_rows.h promises, for CPUs. */

#include "common/local_model.h"

/* Vectors after which deletes are looked at again. */
#define VECTORS_BETWEEN_LOOKS 4

/* Deletes on their way through further lanes, given what leaves each lane. */
CALL void further_deletes(const team_t *team, grid d, reals leaving)
{
    for (int round = 1; round < 4; round++) {
        leaving = SHIFT_UP(team, leaving, 0.0f);
        for (int q = 0; q < team->vectors; q++) {
            const reals v = d[VEC(q)];
            if (q % VECTORS_BETWEEN_LOOKS == 0 && !any_of(team, leaving > v * NO_SHARE)) return;
            d[VEC(q)] = leaving + v;
            leaving = leaving * TRANS(team, q, DD);
        }
    }
}

typedef struct { grid m, i, d; int stride, d_stride; } forward_t;

CALL forward_t forward_at_start(const team_t *team, row_t rows, grid m, grid i, grid d, int stride, int d_stride)
{
    const size_t row = VEC(team->vectors);
    const forward_t f = {stride ? m : rows, stride ? i : rows + row, d_stride ? d : rows + 2 * row, stride, d_stride};
    for (int q = 0; q < team->vectors; q++) f.m[VEC(q)] = f.i[VEC(q)] = f.d[VEC(q)] = ZEROS;
    return f;
}

CALL void keep_row(const team_t *team, const forward_t *f) {}

CALL reals forward_row(const team_t *team, forward_t *f, reals b, const emission_t *emission)
{
    grid old_m = f->m, old_i = f->i, old_d = f->d;
    grid m = f->m += VEC(f->stride), i = f->i += VEC(f->stride), d = f->d += VEC(f->d_stride);
    const int last = VEC(team->vectors - 1);
    reals left_m = SHIFT_UP(team, old_m[last], 0.0f), left_i = SHIFT_UP(team, old_i[last], 0.0f);
    reals left_d = SHIFT_UP(team, old_d[last], 0.0f);
    reals e = ZEROS, opened = ZEROS;
    for (int q = 0; q < team->vectors; q++) {
        reals v = b * TRANS(team, q, BM);
        v = v + left_m * TRANS(team, q, MM);
        v = v + left_i * TRANS(team, q, IM);
        v = v + left_d * TRANS(team, q, DM);
        v = v * EMISSION_OF(team, *emission, q);
        e = e + v;
        left_m = old_m[VEC(q)];
        left_i = old_i[VEC(q)];
        left_d = old_d[VEC(q)];
        m[VEC(q)] = v;
        d[VEC(q)] = opened;
        opened = v * TRANS(team, q, MD);
        i[VEC(q)] = left_m * TRANS(team, q, MI) + left_i * TRANS(team, q, II);
    }
    reals leaving = SHIFT_UP(team, opened, 0.0f);
    for (int q = 0; q < team->vectors; q++) {
        const reals v = leaving + d[VEC(q)];
        d[VEC(q)] = v;
        leaving = v * TRANS(team, q, DD);
    }
    further_deletes(team, d, leaving);
    for (int q = 0; q < team->vectors; q++) e = e + d[VEC(q)];
    return total(team, e);
}

CALL void backward_row(const team_t *team, row_t m, row_t i, row_t d, local_specials_t *s, masks at_end,
                       const length_model_t *ends, const emission_t *emission)
{
    reals into_mm = SHIFT_DOWN(team, TRANS(team, 0, MM), 0.0f), into_im = SHIFT_DOWN(team, TRANS(team, 0, IM), 0.0f);
    reals into_dm = SHIFT_DOWN(team, TRANS(team, 0, DM), 0.0f);
    reals following = SHIFT_DOWN(team, m[0] * EMISSION_OF(team, *emission, 0), 0.0f), begun = ZEROS;
    for (int q = team->vectors - 1; q >= 0; q--) {
        const reals old_i = i[VEC(q)];
        i[VEC(q)] = old_i * TRANS(team, q, II) + following * into_im;
        d[VEC(q)] = following * into_dm;
        const reals v = old_i * TRANS(team, q, MI) + following * into_mm;
        following = m[VEC(q)] * EMISSION_OF(team, *emission, q);
        m[VEC(q)] = v;
        into_mm = TRANS(team, q, MM);
        into_im = TRANS(team, q, IM);
        into_dm = TRANS(team, q, DM);
        begun = begun + following * TRANS(team, q, BM);
    }
    const reals e = local_specials_before(s, total(team, begun), at_end, ends);
    reals into_next = ZEROS, leaving = SHIFT_DOWN(team, d[0] + e, 0.0f);
    for (int q = team->vectors - 1; q >= 0; q--) {
        into_next = leaving * TRANS(team, q, DD);
        leaving = d[VEC(q)] + (into_next + e);
        d[VEC(q)] = leaving;
    }
    for (int round = 1; round < 4; round++) {
        into_next = SHIFT_DOWN(team, into_next, 0.0f);
        int q = team->vectors - 1;
        for (; q >= 0; q--) {
            const reals v = d[VEC(q)];
            into_next = into_next * TRANS(team, q, DD);
            if (q % VECTORS_BETWEEN_LOOKS == 0 && !any_of(team, into_next > v * NO_SHARE)) break;
            d[VEC(q)] = v + into_next;
        }
        if (q >= 0) break;
    }
    leaving = SHIFT_DOWN(team, d[0], 0.0f);
    for (int q = team->vectors - 1; q >= 0; q--) {
        m[VEC(q)] = (m[VEC(q)] + e) + leaving * TRANS(team, q, MD);
        leaving = d[VEC(q)];
    }
}

CALL void multiply_kept(const team_t *team, grid kept_m, grid kept_i, row_t m, row_t i)
{
    for (int q = 0; q < team->vectors; q++) {
        kept_m[VEC(q)] = kept_m[VEC(q)] * m[VEC(q)];
        kept_i[VEC(q)] = kept_i[VEC(q)] * i[VEC(q)];
    }
}
