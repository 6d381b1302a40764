/* Tiles of the matrices of a pair HMM: TILE_ROWS rows (residues of x, from 0) by 8 columns (of y, from 0), in vectors.

   What they are made of: common/pair_hmm.h. A tile has a unit, in which all its numbers are; it is set anew from tile to
   tile down a column of tiles. */

#include "common/pair_hmm.h"
#include "common/vectors.h"

#define TILE_ROWS 4
#define TILE_COLUMNS 8

#define N_KEPT (1 + SETS) /* vectors of a block that are kept from row to row */

/* The value of the column before, after; `edge` holds that of the block beside it in its last, first lane. */
#define COLUMN_BEFORE(v, edge) ((float8)((edge).s7, (v).s0123, (v).s45, (v).s6))
#define COLUMN_AFTER(v, edge) ((float8)((v).s1, (v).s23, (v).s4567, (edge).s0))

typedef struct {
    float8 match, opens[SETS], extends[SETS], extends_2[SETS], extends_4[SETS], closes[SETS];
    float8 ahead[SETS], behind[SETS]; /* extend to the powers 1 to 8, 8 to 1 */
    float end;
} hmm_factors_t;

/* What a tile takes from the one beside it for a row: x of the row above or z of that below, and D_k of the next one. */
typedef struct { float8 corner, gaps[SETS]; } tile_edge_t;

/* What is added up over the tiles. */
typedef struct { float8 extends[SETS], closes[SETS]; } gap_sums_t;

/* The exponent of the largest number. */
CALL int exponent_of_largest(float8 v)
{
    const float4 four = LARGER(v.lo, v.hi);
    const float2 two = LARGER(four.lo, four.hi);
    return exponent_of(LARGER(two.x, two.y));
}

CALL void load_factors(hmm_factors_t *f, __global const float *steps)
{
    f->match = (float8)(steps[0]);
    f->end = steps[1];
    for (int k = 0; k < SETS; k++) {
        const float e = steps[3 + 3 * k] * (SABOTAGE == 2 ? 1.001f : 1.0f), e2 = e * e, e4 = e2 * e2;
        f->opens[k] = (float8)(steps[2 + 3 * k]);
        f->extends[k] = (float8)(e);
        f->extends_2[k] = (float8)(e2);
        f->extends_4[k] = (float8)(e4);
        f->closes[k] = (float8)(steps[4 + 3 * k]);
        f->ahead[k] = (float8)(e, e2, e2 * e, e4, e4 * e, e4 * e2, e4 * e2 * e, e4 * e4);
        f->behind[k] = f->ahead[k].s76543210;
    }
}

/* The sums s(j) = v(j) + e s(j-1), and the same from the end. */
CALL float8 chain_ahead(float8 v, const hmm_factors_t *f, int k)
{
    const float8 zero = (float8)(0.0f);
    v += f->extends[k] * COLUMN_BEFORE(v, zero);
    v += f->extends_2[k] * (float8)(zero.s01, v.s0123, v.s45);
    return v + f->extends_4[k] * (float8)(zero.s0123, v.s0123);
}

CALL float8 chain_behind(float8 v, const hmm_factors_t *f, int k)
{
    const float8 zero = (float8)(0.0f);
    v += f->extends[k] * COLUMN_AFTER(v, zero);
    v += f->extends_2[k] * (float8)(v.s23, v.s4567, zero.s01);
    return v + f->extends_4[k] * (float8)(v.s4567, zero.s0123);
}

/* A tile forwards; `kept` is x and y of its block, `states` where its M, I, D go unless 0. Return by how much its unit
   grows: all that is kept is in the new one. */
CALL int forward_tile(const hmm_factors_t *f, __global const float8 *odds, const int *letters, __global float8 *kept,
                      tile_edge_t *edges, float ratio, __global float8 *states, int row_stride, int is_start)
{
    float8 x = kept[0], y[SETS];
#pragma unroll
    for (int k = 0; k < SETS; k++) y[k] = kept[1 + k];
#pragma unroll
    for (int r = 0; r < TILE_ROWS; r++) {
        const float8 m = odds[letters[r]] * COLUMN_BEFORE(x, edges[r].corner * ratio);
        edges[r].corner = x;
        x = f->match * m;
        if (states) states[r * row_stride] = m;
#pragma unroll
        for (int k = 0; k < SETS; k++) {
            const float8 i = y[k], opened = f->opens[k] * m, entering = edges[r].gaps[k] * ratio;
            const float8 next = chain_ahead(opened, f, k) + f->ahead[k] * entering;
            const float8 d = COLUMN_BEFORE(next, entering);
            edges[r].gaps[k] = next.s77777777;
            x += f->closes[k] * (i + (SABOTAGE == 1 ? i : d));
            y[k] = opened + f->extends[k] * i;
            if (states) {
                states[r * row_stride + 1 + 2 * k] = i;
                states[r * row_stride + 2 + 2 * k] = d;
            }
        }
        if (is_start && r == 0) x.s0 += f->end; /* Start goes to M rather than to the end */
    }
    float8 largest = x;
#pragma unroll
    for (int k = 0; k < SETS; k++) largest += y[k];
    const int grown = exponent_of_largest(largest);
    const float8 factor = (float8)(power_of_2(-grown));
    kept[0] = x * factor;
#pragma unroll
    for (int k = 0; k < SETS; k++) kept[1 + k] = y[k] * factor;
    return grown;
}

/* A tile backwards; `matches` gets the products of M, `scale` makes probabilities of products. `end_row`, unless below
   0, is that of the last cell, which `end` has the step to the end in; `start`, unless 0, gets the steps from Start. */
CALL int backward_tile(const hmm_factors_t *f, __global const float8 *odds, const int *letters, __global float8 *kept,
                       tile_edge_t *edges, float ratio, __global const float8 *states, int row_stride, float scale,
                       float8 *matches, gap_sums_t *sums, int end_row, float8 end, float *start)
{
    float8 z = kept[0], v[SETS], largest = z;
    gap_sums_t found;
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        v[k] = kept[1 + k];
        found.extends[k] = found.closes[k] = (float8)(0.0f);
    }
#pragma unroll
    for (int r = TILE_ROWS - 1; r >= 0; r--) {
        __global const float8 *forwards = states + r * row_stride;
        const float8 m = COLUMN_AFTER(z, edges[r].corner * ratio), last = r == end_row ? end : (float8)(0.0f);
        float8 from_match = f->match * m + last;
        edges[r].corner = z;
        largest = (float8)(0.0f);
#pragma unroll
        for (int k = 0; k < SETS; k++) {
            const float8 closed = f->closes[k] * m + last, entering = edges[r].gaps[k] * ratio;
            const float8 d = chain_behind(closed, f, k) + f->behind[k] * entering;
            const float8 w = COLUMN_AFTER(d, entering);
            edges[r].gaps[k] = d.s00000000;
            from_match += f->opens[k] * (v[k] + w);
            if (start && r == 0) start[k] = f->opens[k].s0 * (v[k].s0 + w.s0);
            const float8 forward_i = forwards[1 + 2 * k], forward_d = forwards[2 + 2 * k];
            found.extends[k] += forward_i * v[k] + forward_d * w;
            found.closes[k] += (forward_i + forward_d) * m;
            v[k] = f->extends[k] * v[k] + closed;
            largest += v[k];
        }
        matches[r] = forwards[0] * from_match * scale;
        z = odds[letters[r]] * from_match;
        largest += from_match;
        if (start && r == 0) start[SETS] = from_match.s0 + f->end * m.s0;
    }
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        sums->extends[k] += found.extends[k] * scale;
        sums->closes[k] += found.closes[k] * scale;
    }
    const int grown = exponent_of_largest(largest);
    const float8 factor = (float8)(power_of_2(-grown));
    kept[0] = z * factor;
#pragma unroll
    for (int k = 0; k < SETS; k++) kept[1 + k] = v[k] * factor;
    return grown;
}
