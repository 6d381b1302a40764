/* HMMER3's Forward and Backward of local alignments (clalign/reference/local_rows.py). A row of M, I or D is reals[Q].
   What is done cell by cell is here; rows, where order counts, are those of common/local_rows_vector.h or
   common/local_rows_lanes.h:

   forward_t           where Forward is: M, I and D of its last row
   forward_at_start    before the first residue, given scratch rows and where all rows are kept: `stride` (of D:
                       `d_stride`) vectors for each, 0 to keep none
   forward_row         M, I and D of the next residue; returns E
   keep_row            keeps the last row
   backward_row        M, I and D before a residue, in place, and the special states; `at_end` problems end here
   multiply_kept       multiplies kept rows of M and I by others */

#ifdef LANE_BACKEND
#include "common/local_rows_lanes.h"
#else
#include "common/local_rows_vector.h"
#endif

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
CALL void multiply(const team_t *team, row_t a, row_t b, row_t c, reals by)
{
    EACH_VECTOR(team, q) {
        a[VEC(q)] = a[VEC(q)] * by;
        b[VEC(q)] = b[VEC(q)] * by;
        c[VEC(q)] = c[VEC(q)] * by;
    }
    BARRIER;
}

/* Divide a row of Forward whose E is large; returns what it was divided by. */
CALL reals scale_forward(const team_t *team, row_t m, row_t i, row_t d, local_specials_t *s)
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

/* Divide a row of Backward by what Forward was divided by, or by its own term; returns that. */
CALL reals scale_backward(const team_t *team, row_t m, row_t i, row_t d, local_specials_t *s, masks *own,
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
CALL local_specials_t before_first(const team_t *team, row_t m, local_specials_t s, const length_model_t *ends,
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

/* Forward of all problems, as far as the longest; `rows` and what is kept: see forward_at_start. */
CALL void forward_targets(const team_t *team, targets_t *t, row_t rows, grid m, grid i, grid d, int stride, int d_stride,
                          slots_t slots, const length_model_t *ends)
{
    local_specials_t s = local_specials_at_start(ends);
    forward_t f = forward_at_start(team, rows, m, i, d, stride, d_stride);
    keep_specials(slots, 0, s, (reals)(1.0f));
    for (int x = 0; x < t->longest; x++) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        s = local_specials_after(s, forward_row(team, &f, s.b, &emission), ends);
        per_lane_t scale, last;
        scale.v = scale_forward(team, f.m, f.i, f.d, &s);
        keep_row(team, &f);
        last.v = s.c * ends->move;
        keep_specials(slots, x + 1, s, scale.v);
        for (int p = 0; p < PROBLEMS; p++) {
            if (x < t->length[p]) t->score[p] = with_logarithm(t->score[p], OF_PROBLEM(scale, p));
            if (x == t->length[p] - 1) t->score[p] = (float)((wide)t->score[p] + log((wide)OF_PROBLEM(last, p)));
        }
    }
}
