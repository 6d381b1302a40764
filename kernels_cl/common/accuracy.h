/* The optimal accuracy alignment of an envelope (clalign/reference/envelope.py): its matrix and its traceback. */

/* Where M came from (two bits); I from I, D from D. */
enum { FROM_M, FROM_I, FROM_D, FROM_B };
enum { CELL_I_FROM_I = 4, CELL_D_FROM_D = 8 };

/* Best sums of M, I, D up to a row; sums of the posterior probabilities of M and I over the rows. */
typedef struct { grid m, i, d, used_m, used_i; } sums_t;

/* Carry deletes from lane to lane, given the best that leaves each lane and whether that is a delete. */
CALL void cross_lanes(const team_t *team, grid d, cells_t cells, reals leaving, masks is_delete)
{
    for (int round = 0; round < 4; round++) {
        const reals flags = is_delete ? (reals)(1.0f) : NONE;
        is_delete = UP(flags, 0.0f) > 0.0f;
        leaving = UP(leaving, -INFINITY);
        for (int q = 0; q < team->vectors; q++) {
            const masks raised = leaving > d[AT(q)];
            if (!any_of(team, raised)) return;
            d[AT(q)] = raised ? leaving : d[AT(q)];
            const masks cell = FROM_BYTES(cells[AT(q)]);
            const masks flag = is_delete ? (masks)(CELL_D_FROM_D) : (masks)(0);
            cells[AT(q)] = TO_BYTES(raised ? (cell & ~CELL_D_FROM_D) | flag : cell);
            leaving = STEP(q, OUT_DD) > 0.0f ? leaving : NEVER;
            is_delete = (masks)(-1);
        }
    }
}

/* The sums up to a residue, in place, and where each came from. `pairs_m`, `pairs_i`: products of Forward and Backward,
   which are probabilities once multiplied by `by`. Returns the best M; `at` gets its place in the striped order. */
CALL reals accuracy_row(const team_t *team, sums_t sums, grid pairs_m, grid pairs_i, reals by, reals b, cells_t cells,
                        reals *at)
{
    reals left_m = UP(sums.m[AT(team->vectors - 1)], -INFINITY), left_i = UP(sums.i[AT(team->vectors - 1)], -INFINITY);
    reals left_d = UP(sums.d[AT(team->vectors - 1)], -INFINITY);
    reals best = NEVER, best_at = NONE, chain = NEVER;
    masks is_delete = (masks)(0);
    for (int q = 0; q < team->vectors; q++) {
        const reals by_m = STEP(q, IN_MM) > 0.0f ? left_m : NEVER, by_i = STEP(q, IN_IM) > 0.0f ? left_i : NEVER;
        const reals by_d = STEP(q, IN_DM) > 0.0f ? left_d : NEVER, by_b = STEP(q, BEGIN) > 0.0f ? b : NEVER;
        reals v = LARGER(by_m, by_i);
        v = LARGER(v, by_d);
        v = LARGER(v, by_b);
        masks cell = v == by_m ? (masks)(FROM_M) : v == by_i ? (masks)(FROM_I) : v == by_d ? (masks)(FROM_D)
                                                                                             : (masks)(FROM_B);
        left_m = sums.m[AT(q)];
        left_i = sums.i[AT(q)];
        left_d = sums.d[AT(q)];
        const reals opened = STEP(q, MI) > 0.0f ? left_m : NEVER, extended = STEP(q, II) > 0.0f ? left_i : NEVER;
        cell |= extended > opened ? (masks)(CELL_I_FROM_I) : (masks)(0);
        cell |= is_delete ? (masks)(CELL_D_FROM_D) : (masks)(0);
        const reals chance_m = pairs_m[AT(q)] * by, chance_i = pairs_i[AT(q)] * by;
        sums.used_m[AT(q)] = sums.used_m[AT(q)] + chance_m;
        sums.used_i[AT(q)] = sums.used_i[AT(q)] + chance_i;
        v = LARGER(v, NONE) + chance_m;
        const reals inserted = LARGER(opened, extended);
        sums.m[AT(q)] = v;
        sums.i[AT(q)] = LARGER(inserted, NONE) + chance_i;
        sums.d[AT(q)] = chain;
        cells[AT(q)] = TO_BYTES(cell);
        best_at = v >= best ? (reals)((float)q) : best_at;
        best = LARGER(best, v);
        const reals deleted = STEP(q, OUT_MD) > 0.0f ? v : NEVER, skipped = STEP(q, OUT_DD) > 0.0f ? chain : NEVER;
        is_delete = skipped > deleted;
        chain = LARGER(deleted, skipped);
        chain = LARGER(chain, NONE);
    }
    cross_lanes(team, sums.d, cells, chain, is_delete);
    const reals e = highest(team, best);
    *at = highest(team, best == e ? best_at * 4.0f + LANE_OF_FOUR : (reals)(-1.0f));
    return e;
}

/* One problem: what its traceback reads. */
typedef struct {
    __global const float *pairs_m, *pairs_i, *slots;
    __global const uchar *cells;
    int vectors;
} trace_t;

/* Digits of posterior probabilities, as text. */
CALL uchar digit(float chance)
{
    const wide rounded = (wide)chance + (wide)0.05;
    return rounded >= 1 ? '*' : (uchar)('0' + (int)(rounded * 10));
}

/* Walk back from the match state at `at` (striped order) of a row. The text ends before `end`; returns where it begins.
   `start` gets the first residue and node, counted from 0. */
CALL int walk_back(const trace_t *t, int x, int at, __global uchar *states, __global uchar *chances, int end, int *start)
{
    int q = at / 4, lane = at % 4, k = lane * t->vectors + q + 1, state = FROM_M;
    __global const float *slots = t->slots;
    while (x > 0 && k > 0 && state != FROM_B) {
        q = (k - 1) % t->vectors;
        lane = (k - 1) / t->vectors;
        const size_t here = (size_t)((x - 1) * t->vectors + q) * LANES + lane;
        const int cell = t->cells[here];
        end--;
        if (state == FROM_D) {
            states[end] = 'D';
            chances[end] = '.';
            state = cell & CELL_D_FROM_D ? FROM_D : FROM_M;
            k--;
            continue;
        }
        const float pair = state == FROM_M ? t->pairs_m[here] : t->pairs_i[here];
        states[end] = state == FROM_M ? 'M' : 'I';
        chances[end] = digit(pair * SLOT(x, SLOT_B));
        x--;
        if (state == FROM_I) {
            state = cell & CELL_I_FROM_I ? FROM_I : FROM_M;
            continue;
        }
        state = cell & 3;
        k--;
    }
    start[0] = x;
    start[1] = k;
    return end;
}
