/* One row of HMMER3's Forward and of its Backward (clalign/reference/local_rows.py).

   Tables
     steps      float[Q][N_STEPS][4]      0 where impossible
     emissions  float[N_CODES][Q][4]

   A row of M, I or D is reals[Q]; old and new rows may be the same. */

/* From B, and from M, I, D of the node before; to D of the next node, to I of the same. */
enum { BEGIN, IN_MM, IN_IM, IN_DM, OUT_MD, MI, II, OUT_DD, N_STEPS };

/* A row with a larger E is divided by it; beyond this B, Backward divides by terms of its own. */
#define LARGEST_SUM 1e4f
#define LARGEST_BEGIN 1e16f

/* What is below this share of the value that it is added to changes no bit of it, here nor further on. */
#define NO_SHARE 0x1p-26f
#define VECTORS_BETWEEN_LOOKS 4

/* A letter code that nothing matches, for those that end before others beside them. */
#define NO_CODE 31

typedef struct { reals n, e, j, b, c; } specials_t;

/* Probabilities outside the model. */
typedef struct { reals move, loop, e_to_c, e_to_j; } ends_t;

/* The rows of emissions of the residues at x, one for each problem. */
CALL emission_t emissions_at(const team_t *team, __global const uchar *const *codes, const int *length, int x)
{
    emission_t e;
#pragma unroll
    for (int s = 0; s < PROBLEMS; s++) {
        const uint code = x < length[s] ? codes[s][x] : NO_CODE;
        e.row[s] = team->emissions + EMISSION_ROW(code * team->vectors);
    }
    return e;
}

/* Deletes on their way through further lanes, given what leaves each lane. */
CALL void further_deletes(const team_t *team, grid d, reals leaving)
{
    for (int round = 1; round < 4; round++) {
        leaving = UP(leaving, 0.0f);
        for (int q = 0; q < team->vectors; q++) {
            const reals v = d[AT(q)];
            if (q % VECTORS_BETWEEN_LOOKS == 0 && !any_of(team, leaving > v * NO_SHARE)) return;
            d[AT(q)] = leaving + v;
            leaving = leaving * STEP(q, OUT_DD);
        }
    }
}

/* M, I and D of a residue; returns E. */
CALL reals forward_row(const team_t *team, grid old_m, grid old_i, grid old_d, grid m, grid i, grid d, reals b,
                       const emission_t *emission)
{
    reals left_m = UP(old_m[AT(team->vectors - 1)], 0.0f), left_i = UP(old_i[AT(team->vectors - 1)], 0.0f);
    reals left_d = UP(old_d[AT(team->vectors - 1)], 0.0f);
    reals e = NONE, opened = NONE;
    for (int q = 0; q < team->vectors; q++) {
        reals v = b * STEP(q, BEGIN);
        v = v + left_m * STEP(q, IN_MM);
        v = v + left_i * STEP(q, IN_IM);
        v = v + left_d * STEP(q, IN_DM);
        v = v * EMISSION(*emission, q);
        e = e + v;
        left_m = old_m[AT(q)];
        left_i = old_i[AT(q)];
        left_d = old_d[AT(q)];
        m[AT(q)] = v;
        d[AT(q)] = opened;
        opened = v * STEP(q, OUT_MD);
        i[AT(q)] = left_m * STEP(q, MI) + left_i * STEP(q, II);
    }
    reals leaving = UP(opened, 0.0f);
    for (int q = 0; q < team->vectors; q++) {
        const reals v = leaving + d[AT(q)];
        d[AT(q)] = v;
        leaving = v * STEP(q, OUT_DD);
    }
    further_deletes(team, d, leaving);
    for (int q = 0; q < team->vectors; q++) e = e + d[AT(q)];
    return total(team, e);
}

/* The special states after a row whose E is given. */
CALL specials_t after_row(specials_t before, reals e, const ends_t *ends)
{
    specials_t s;
    s.n = before.n * ends->loop;
    s.c = before.c * ends->loop + e * ends->e_to_c;
    s.j = before.j * ends->loop + e * ends->e_to_j;
    s.b = s.j * ends->move + s.n * ends->move;
    s.e = e;
    return s;
}

CALL specials_t specials_at_start(const ends_t *ends)
{
    const specials_t s = {(reals)(1.0f), NONE, NONE, ends->move, NONE};
    return s;
}

/* Multiply a row, of up to three kinds of states. */
CALL void multiply(const team_t *team, grid a, grid b, grid c, reals by)
{
    for (int q = 0; q < team->vectors; q++) {
        a[AT(q)] = a[AT(q)] * by;
        b[AT(q)] = b[AT(q)] * by;
        c[AT(q)] = c[AT(q)] * by;
    }
}

/* Divide a row of Forward whose E is large; returns what it was divided by. */
CALL reals scale_forward(const team_t *team, grid m, grid i, grid d, specials_t *s)
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
CALL void backward_row(const team_t *team, grid m, grid i, grid d, specials_t *s, masks at_end, const ends_t *ends,
                       const emission_t *emission)
{
    reals into_mm = DOWN(STEP(0, IN_MM), 0.0f), into_im = DOWN(STEP(0, IN_IM), 0.0f);
    reals into_dm = DOWN(STEP(0, IN_DM), 0.0f);
    reals following = DOWN(m[0] * EMISSION(*emission, 0), 0.0f), begun = NONE;
    for (int q = team->vectors - 1; q >= 0; q--) {
        const reals old_i = i[AT(q)];
        i[AT(q)] = old_i * STEP(q, II) + following * into_im;
        d[AT(q)] = following * into_dm;
        const reals v = old_i * STEP(q, MI) + following * into_mm;
        following = m[AT(q)] * EMISSION(*emission, q);
        m[AT(q)] = v;
        into_mm = STEP(q, IN_MM);
        into_im = STEP(q, IN_IM);
        into_dm = STEP(q, IN_DM);
        begun = begun + following * STEP(q, BEGIN);
    }
    s->b = total(team, begun);
    s->c = at_end ? ends->move : s->c * ends->loop;
    s->j = s->b * ends->move + s->j * ends->loop;
    s->n = s->b * ends->move + s->n * ends->loop;
    s->e = s->c * ends->e_to_c + s->j * ends->e_to_j;
    const reals e = s->e;
    reals into_next = NONE, leaving = DOWN(d[0] + e, 0.0f);
    for (int q = team->vectors - 1; q >= 0; q--) {
        into_next = leaving * STEP(q, OUT_DD);
        leaving = d[AT(q)] + (into_next + e);
        d[AT(q)] = leaving;
    }
    for (int round = 1; round < 4; round++) {
        into_next = DOWN(into_next, 0.0f);
        int q = team->vectors - 1;
        for (; q >= 0; q--) {
            const reals v = d[AT(q)];
            into_next = into_next * STEP(q, OUT_DD);
            if (q % VECTORS_BETWEEN_LOOKS == 0 && !any_of(team, into_next > v * NO_SHARE)) break;
            d[AT(q)] = v + into_next;
        }
        if (q >= 0) break;
    }
    leaving = DOWN(d[0], 0.0f);
    for (int q = team->vectors - 1; q >= 0; q--) {
        m[AT(q)] = (m[AT(q)] + e) + leaving * STEP(q, OUT_MD);
        leaving = d[AT(q)];
    }
}

/* Divide a row of Backward by what Forward was divided by, or by its own term; returns that. */
CALL reals scale_backward(const team_t *team, grid m, grid i, grid d, specials_t *s, masks *own, reals forward_scale)
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
CALL specials_t before_first(const team_t *team, grid m, specials_t s, const ends_t *ends, const emission_t *emission)
{
    reals begun = NONE;
    for (int q = 0; q < team->vectors; q++) begun = begun + m[AT(q)] * EMISSION(*emission, q) * STEP(q, BEGIN);
    s.b = total(team, begun);
    s.n = s.b * ends->move + s.n * ends->loop;
    return s;
}

/* Add what a row was divided by to the sum of logarithms, rounded as HMMER rounds. */
CALL float with_logarithm(float sum, float scale)
{
    return scale > 1.0f ? (float)((wide)sum + log((wide)scale)) : sum;
}
