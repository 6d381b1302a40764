/* Cells of the pair hidden Markov model as the laboratory's ladder computes them: every number of them has an exponent
   of its own, so that nothing under- or overflows however long the sequences are, and no cells need share a unit.

   There are three states (SETS 1). Emissions are odds, as in pair_hmm.h. Tables are number_t[m + 1][n + 1][N_FIELDS];
   M of (0, 0) is Start, whose step to M ends nowhere else and so is more probable than that of M by that to the end.

   CELL_SPACE is where the states of a cell are while terms are added to them. */

#define SETS 1

#include "common/pair_hmm.h"
#include "common/vectors.h"

#ifndef CELL_SPACE
#define CELL_SPACE __private
#endif

#define EXPONENT_BITS 64
#define LARGE_MANTISSA 0x1p32f
#define SMALL_MANTISSA 0x1p-32f

enum { INSERT, MATCH, DELETE, N_FIELDS };

#define SUMS (END_MATCH + 1) /* where the expected steps begin in the results: MM, MI, MD, II, DD, IM, DM */

typedef int2 number_t; /* the bits of a mantissa, and its exponent, of 2 to the EXPONENT_BITS */

typedef struct {
    int m, n;
    __global const uchar *x, *y; /* places of the residues in the emissions */
    __global const float *odds;
    int n_letters;
    float match, end, open, extend, close;
} ladder_pair_t;

#define PAIR_ARGUMENTS const int m, const int n, __global const uchar *x, __global const uchar *y, \
                       __global const float *odds, const int n_letters, __global const float *steps

#define LOADED_PAIR {m, n, x, y, odds, n_letters, steps[0], steps[1], steps[2], steps[3] * (1.0f + (SABOTAGE == 1) * 1e-3f), \
                     steps[4]}

CALL size_t cell_of(const ladder_pair_t *p, int i, int j)
{
    return ((size_t)i * (p->n + 1) + j) * N_FIELDS;
}

CALL number_t number_of(float mantissa, int exponent)
{
    return (number_t)(as_int(mantissa), exponent);
}

CALL number_t times(number_t a, float factor)
{
    const float product = as_float(a.x) * factor;
    if (product >= LARGE_MANTISSA) return number_of(product * 0x1p-64f, a.y + 1);
    if (product < SMALL_MANTISSA) return number_of(product * 0x1p64f, a.y - 1); /* 0 remains 0 */
    return number_of(product, a.y);
}

/* Mantissas are that near to 1 that nothing is left of a number whose exponent is less by 2. */
CALL number_t plus(number_t a, number_t b)
{
    const float of_a = as_float(a.x), of_b = as_float(b.x);
    const int apart = a.y - b.y;
    if (of_b == 0.0f || (apart > 1 && of_a != 0.0f)) return a;
    if (of_a == 0.0f || apart < -1) return b;
    if (apart == 1) return number_of(of_a + of_b * 0x1p-64f, a.y);
    if (apart == -1) return number_of(of_a * 0x1p-64f + of_b, b.y);
    return number_of(of_a + of_b, a.y);
}

CALL void add(CELL_SPACE number_t *own, number_t other, float factor)
{
    *own = plus(*own, times(other, factor));
}

/* A product as a share of the total; of a pair that is impossible there are none. */
CALL float share_of(number_t forward, number_t backward, number_t total)
{
    if (as_float(total.x) == 0.0f) return 0.0f;
    const float half_unit = power_of_2((forward.y + backward.y - total.y) * (EXPONENT_BITS / 2));
    return as_float(forward.x) * as_float(backward.x) / as_float(total.x) * half_unit * half_unit;
}

CALL float odds_of(const ladder_pair_t *p, int i, int j)
{
    return p->odds[p->x[i - 1] * p->n_letters + p->y[j - 1]];
}

/* Add to a state of a cell all that comes to it; it is 0 before. */
CALL void forward_state(const ladder_pair_t *p, CELL_SPACE number_t *own, __global const number_t *table, int state,
                        int i, int j)
{
    if (state == DELETE && j > 0) {
        __global const number_t *left = table + cell_of(p, i, j - 1);
        add(own, left[MATCH], p->open);
        add(own, left[DELETE], p->extend);
    }
    if (state == INSERT && i > 0) {
        __global const number_t *above = table + cell_of(p, i - 1, j);
        add(own, above[MATCH], p->open);
        add(own, above[INSERT], p->extend);
    }
    if (state == MATCH && i > 0 && j > 0) {
        __global const number_t *corner = table + cell_of(p, i - 1, j - 1);
        const float odds = odds_of(p, i, j);
        add(own, corner[MATCH], (i + j == 2 ? p->match + p->end : p->match) * odds);
        add(own, corner[INSERT], p->close * odds);
        add(own, corner[DELETE], p->close * odds);
    }
    if (state == MATCH && i + j == 0) *own = number_of(1.0f, 0);
}

/* Set a state of a cell to all that it leads to. */
CALL void backward_state(const ladder_pair_t *p, CELL_SPACE number_t *own, __global const number_t *table, int state,
                         int i, int j)
{
    const number_t nothing = (number_t)(0);
    const int is_inside = i < p->m && j < p->n;
    const float odds = is_inside ? odds_of(p, i + 1, j + 1) : 0.0f;
    if (state != INSERT) {
        const number_t right = j < p->n ? table[cell_of(p, i, j + 1) + DELETE] : nothing;
        *own = times(right, state == MATCH ? p->open : p->extend);
    }
    if (state != DELETE) {
        const number_t below = i < p->m ? table[cell_of(p, i + 1, j) + INSERT] : nothing;
        if (state == MATCH) add(own, below, p->open);
        else *own = times(below, p->extend);
    }
    if (is_inside) {
        const float step = state != MATCH ? p->close : i + j == 0 ? p->match + p->end : p->match;
        add(own, table[cell_of(p, i + 1, j + 1) + MATCH], step * odds);
    }
    if (i == p->m && j == p->n) *own = number_of(SABOTAGE == 2 ? 1.1f * p->end : p->end, 0);
}

/* The sum over all paths. */
CALL number_t total_of(const ladder_pair_t *p, __global const number_t *forward)
{
    __global const number_t *last = forward + cell_of(p, p->m, p->n);
    return times(plus(plus(last[MATCH], last[INSERT]), last[DELETE]), p->end);
}

/* How often paths go through M of a cell. */
CALL float match_share(const ladder_pair_t *p, __global const number_t *forward, __global const number_t *backward,
                       number_t total, int i, int j)
{
    const size_t place = cell_of(p, i, j) + MATCH;
    return share_of(forward[place], backward[place], total);
}

/* How often paths take each step from a cell, but for those from Start and to the end: see SUMS. */
CALL float8 expected_steps_from(const ladder_pair_t *p, __global const number_t *forward,
                                __global const number_t *backward, number_t total, int i, int j)
{
    const number_t nothing = (number_t)(0);
    __global const number_t *from = forward + cell_of(p, i, j);
    const int is_inside = i < p->m && j < p->n;
    const float odds = is_inside ? odds_of(p, i + 1, j + 1) : 0.0f;
    const number_t to_match = is_inside ? times(backward[cell_of(p, i + 1, j + 1) + MATCH], odds) : nothing;
    const number_t to_insert = i < p->m ? backward[cell_of(p, i + 1, j) + INSERT] : nothing;
    const number_t to_delete = j < p->n ? backward[cell_of(p, i, j + 1) + DELETE] : nothing;
    const number_t match = i + j ? from[MATCH] : nothing;
    return (float8)(p->match * share_of(match, to_match, total), p->open * share_of(match, to_insert, total),
                    p->open * share_of(match, to_delete, total), p->extend * share_of(from[INSERT], to_insert, total),
                    p->extend * share_of(from[DELETE], to_delete, total),
                    p->close * share_of(from[INSERT], to_match, total),
                    p->close * share_of(from[DELETE], to_match, total), 0.0f);
}

/* The total, what Backward makes of it, and the expected steps. */
CALL void write_results(const ladder_pair_t *p, __global const number_t *forward, __global const number_t *backward,
                        float8 sums, __global float *results)
{
    const number_t total = total_of(p, forward);
    results[MANTISSA] = as_float(total.x);
    results[EXPONENT] = total.y * EXPONENT_BITS;
    results[BACKWARDS] = share_of(number_of(1.0f, 0), backward[MATCH], total);
    results[END_MATCH] = 0.0f;
    vstore8(sums, 0, results + SUMS);
}
