/* One row of HMMER3's Forward and of its Backward (clalign/reference/local_rows.py). A row of M, I or D is reals[Q];
   old and new rows may be the same.

   Tables, those of all models of a launch one after the other
     models       int[][N_MODEL_NUMBERS]
     transitions  float[Q][N_LOCAL_TRANSITIONS][4]   0 where impossible
     emissions    float[N_CODES][Q][4] */

#include "common/codes.h"
#include "common/simd4.h"

/* A row with a larger E is divided by it; beyond this B, Backward divides by terms of its own. */
#define LARGEST_SUM 1e4f
#define LARGEST_BEGIN 1e16f

/* What is below this share of the value that it is added to changes no bit of it, here nor further on. */
#define NO_SHARE 0x1p-26f
#define VECTORS_BETWEEN_LOOKS 4

typedef struct { reals n, e, j, b, c; } local_specials_t;

/* Probabilities outside the model. */
typedef struct { reals move, loop, e_to_c, e_to_j; } length_model_t;

/* Of a model: vectors of a row, nodes, and vectors of all models before it. */
enum { MODEL_VECTORS, MODEL_NODES, VECTORS_BEFORE, N_MODEL_NUMBERS };

CALL void take_model(team_t *team, __global const int *model, table_t transitions, table_t emissions)
{
    team->vectors = model[MODEL_VECTORS];
    team->transitions = transitions + TABLE_ROW((size_t)model[VECTORS_BEFORE] * N_LOCAL_TRANSITIONS);
    team->emissions = emissions + TABLE_ROW((size_t)model[VECTORS_BEFORE] * N_CODES);
}

/* The rows of emissions of the residues at x, one for each problem. */
CALL emission_t emissions_at(const team_t *team, __global const uchar *const *codes, const int *length, int x)
{
    emission_t e;
#pragma unroll
    for (int s = 0; s < PROBLEMS; s++) {
        const uint code = x < length[s] ? codes[s][x] : NO_CODE;
        e.row[s] = team->emissions + TABLE_ROW(code * team->vectors);
    }
    return e;
}

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

/* M, I and D of a residue; returns E. */
CALL reals forward_row(const team_t *team, grid old_m, grid old_i, grid old_d, grid m, grid i, grid d, reals b,
                       const emission_t *emission)
{
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

/* The special states after a row whose E is given. */
CALL local_specials_t local_specials_after(local_specials_t before, reals e, const length_model_t *ends)
{
    local_specials_t s;
    s.n = before.n * ends->loop;
    s.c = before.c * ends->loop + e * ends->e_to_c;
    s.j = before.j * ends->loop + e * ends->e_to_j;
    s.b = s.j * ends->move + s.n * ends->move;
    s.e = e;
    return s;
}

CALL local_specials_t local_specials_at_start(const length_model_t *ends)
{
    const local_specials_t s = {(reals)(1.0f), ZEROS, ZEROS, ends->move, ZEROS};
    return s;
}

/* Multiply a row, of up to three kinds of states. */
CALL void multiply(const team_t *team, grid a, grid b, grid c, reals by)
{
    for (int q = 0; q < team->vectors; q++) {
        a[VEC(q)] = a[VEC(q)] * by;
        b[VEC(q)] = b[VEC(q)] * by;
        c[VEC(q)] = c[VEC(q)] * by;
    }
}

/* Divide a row of Forward whose E is large; returns what it was divided by. */
CALL reals scale_forward(const team_t *team, grid m, grid i, grid d, local_specials_t *s)
{
    const masks large = s->e > LARGEST_SUM;
    if (!any_of(team, large)) return (reals)(1.0f);
    const reals scale = large ? s->e : (reals)(1.0f);
    multiply(team, m, i, d, quotient((reals)(1.0f), scale));
    s->n = quotient(s->n, scale);
    s->c = quotient(s->c, scale);
    s->j = quotient(s->j, scale);
    s->b = quotient(s->b, scale);
    s->e = large ? (reals)(1.0f) : s->e;
    return scale;
}

/* M, I and D before a residue, in place; `at_end` problems end here. */
CALL void backward_row(const team_t *team, grid m, grid i, grid d, local_specials_t *s, masks at_end,
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
    s->b = total(team, begun);
    s->c = at_end ? ends->move : s->c * ends->loop;
    s->j = s->b * ends->move + s->j * ends->loop;
    s->n = s->b * ends->move + s->n * ends->loop;
    s->e = s->c * ends->e_to_c + s->j * ends->e_to_j;
    const reals e = s->e;
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

/* Divide a row of Backward by what Forward was divided by, or by its own term; returns that. */
CALL reals scale_backward(const team_t *team, grid m, grid i, grid d, local_specials_t *s, masks *own,
                          reals forward_scale)
{
    *own = *own | (s->b > LARGEST_BEGIN);
    const reals own_scale = s->b > LARGEST_SUM ? s->b : (reals)(1.0f);
    const reals scale = *own ? own_scale : forward_scale;
    if (any_of(team, scale > 1.0f)) {
        multiply(team, m, i, d, quotient((reals)(1.0f), scale));
        s->e = quotient(s->e, scale);
        s->n = quotient(s->n, scale);
        s->c = quotient(s->c, scale);
        s->j = quotient(s->j, scale);
        s->b = quotient(s->b, scale);
    }
    return scale;
}

/* B and N before the first residue, given M of the first row. */
CALL local_specials_t before_first(const team_t *team, grid m, local_specials_t s, const length_model_t *ends,
                                   const emission_t *emission)
{
    reals begun = ZEROS;
    for (int q = 0; q < team->vectors; q++)
        begun = begun + m[VEC(q)] * EMISSION_OF(team, *emission, q) * TRANS(team, q, BM);
    s.b = total(team, begun);
    s.n = s.b * ends->move + s.n * ends->loop;
    return s;
}

/* Add what a row was divided by to the sum of logarithms, rounded as HMMER rounds. */
CALL float with_logarithm(float sum, float scale)
{
    return scale > 1.0f ? (float)((wide)sum + log((wide)scale)) : sum;
}

/* What is kept of a row of Forward. What Backward makes of it: see its users. */
enum { SLOT_N, SLOT_E, SLOT_J, SLOT_B, SLOT_C, SLOT_SCALE, N_SLOTS };

/* Of one problem. */
#define SLOT(slots, row, n) slots[((row) * N_SLOTS + (n)) * SLOT_LANES]

/* `place` is where the answers go, -1 if there is no problem here. */
typedef struct {
    int place[PROBLEMS], length[PROBLEMS], longest;
    __global const uchar *codes[PROBLEMS];
    float score[PROBLEMS];
} targets_t;

CALL void place_target(targets_t *t, int s, int place, int length, __global const uchar *codes)
{
    t->place[s] = place;
    t->length[s] = length;
    t->longest = s == 0 ? length : LARGER(t->longest, length);
    t->codes[s] = codes;
    t->score[s] = 0.0f;
}

/* The numbers of the problems in their four lanes each. */
CALL reals from_each(const int *numbers)
{
    per_lane_t u;
    for (int lane = 0; lane < (int)(sizeof(u) / 4); lane++) u.lane[lane] = (float)numbers[lane / 4];
    return u.v;
}

/* Several domains may be hit, or (`is_single`) one, in targets of these lengths. */
CALL length_model_t length_model_for(const int *lengths, int is_single)
{
    length_model_t ends;
    const float ways = is_single ? 2.0f : 3.0f;
    ends.move = quotient((reals)(ways), from_each(lengths) + ways);
    ends.loop = 1.0f - ends.move;
    ends.e_to_c = (reals)(is_single ? 1.0f : 0.5f);
    ends.e_to_j = (reals)(is_single ? 0.0f : 0.5f);
    return ends;
}

CALL void keep_specials(slots_t slots, int row, local_specials_t s, reals scale)
{
    slots += SLOT_AT(row * N_SLOTS);
    slots[SLOT_AT(SLOT_N)] = GATHER(s.n);
    slots[SLOT_AT(SLOT_E)] = GATHER(s.e);
    slots[SLOT_AT(SLOT_J)] = GATHER(s.j);
    slots[SLOT_AT(SLOT_B)] = GATHER(s.b);
    slots[SLOT_AT(SLOT_C)] = GATHER(s.c);
    slots[SLOT_AT(SLOT_SCALE)] = GATHER(scale);
}

/* Forward of all problems, as far as the longest. Each row is written `stride` (of D: `d_stride`) vectors behind
   the row before; 0 keeps only the last. */
CALL void forward_targets(const team_t *team, targets_t *t, grid m, grid i, grid d, int stride, int d_stride,
                          slots_t slots, const length_model_t *ends)
{
    local_specials_t s = local_specials_at_start(ends);
    for (int q = 0; q < team->vectors; q++) m[VEC(q)] = i[VEC(q)] = d[VEC(q)] = ZEROS;
    keep_specials(slots, 0, s, (reals)(1.0f));
    for (int x = 0; x < t->longest; x++) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        grid old_m = m, old_i = i, old_d = d;
        m += VEC(stride);
        i += VEC(stride);
        d += VEC(d_stride);
        s = local_specials_after(s, forward_row(team, old_m, old_i, old_d, m, i, d, s.b, &emission), ends);
        per_lane_t scale, last;
        scale.v = scale_forward(team, m, i, d, &s);
        last.v = s.c * ends->move;
        keep_specials(slots, x + 1, s, scale.v);
        for (int p = 0; p < PROBLEMS; p++) {
            if (x < t->length[p]) t->score[p] = with_logarithm(t->score[p], OF_PROBLEM(scale, p));
            if (x == t->length[p] - 1) t->score[p] = (float)((wide)t->score[p] + log((wide)OF_PROBLEM(last, p)));
        }
    }
}
