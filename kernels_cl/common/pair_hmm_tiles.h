/* Tiles of the matrices of a pair HMM: TILE_ROWS rows (residues of x, from 0) by 8 columns (of y, from 0), in vectors.

   What they are made of: common/pair_hmm.h. A tile has a unit, in which all its numbers are; it is set anew from tile to
   tile down a column of tiles. */

#define TILE_ROWS 4
#define TILE_COLUMNS 8 /* two of the blocks that D is computed in */

#include "common/pair_hmm.h"
#include "common/vectors.h"

#define N_KEPT (1 + SETS) /* vectors of a block that are kept from row to row */

/* The value of the column before, after; `edge` holds that of the block beside it in its last, first lane. */
#define COLUMN_BEFORE(v, edge) ((float8)((edge).s7, (v).s0123, (v).s45, (v).s6))
#define COLUMN_AFTER(v, edge) ((float8)((v).s1, (v).s23, (v).s4567, (edge).s0))

typedef struct {
    float8 match, opens[SETS], extends[SETS], closes[SETS];
    float8 ahead_1[SETS], ahead_2[SETS], ahead[SETS]; /* see chain_ahead */
    float8 behind_1[SETS], behind_2[SETS], behind[SETS];
    float end;
} hmm_factors_t;

/* What a tile takes from the one beside it for a row: x of the row above or z of that below, and D_k of the next one. */
typedef struct { float8 corner, gaps[SETS]; } tile_edge_t;

/* What is added up over the tiles of a group of rows: the upper and the lower half of whole numbers. */
typedef struct { int8 upper, lower; } halves_t;
typedef struct { halves_t extends[SETS], closes[SETS]; } gap_sums_t;

CALL void add_wholes(halves_t *sum, float8 v)
{
    const int8 wholes = TO_WHOLES(v, OF_STEPS);
    sum->upper += wholes >> 16;
    sum->lower += wholes & 0xffff;
}

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
        const float e = steps[3 + 3 * k] * (SABOTAGE == 2 ? 1.001f : 1.0f), e2 = e * e, e3 = e2 * e, e4 = e2 * e2;
        f->opens[k] = (float8)(steps[2 + 3 * k]);
        f->extends[k] = (float8)(e);
        f->closes[k] = (float8)(steps[4 + 3 * k]);
        f->ahead_1[k] = (float8)(0.0f, e, e, e, 0.0f, e, e, e);
        f->ahead_2[k] = (float8)(0.0f, 0.0f, e2, e2, 0.0f, 0.0f, e2, e2);
        f->ahead[k] = (float8)(e, e2, e3, e4, e, e2, e3, e4);
        f->behind_1[k] = f->ahead_1[k].s76543210;
        f->behind_2[k] = f->ahead_2[k].s76543210;
        f->behind[k] = f->ahead[k].s76543210;
    }
}

/* The sums s(j) = v(j) + e s(j-1), of which `entering` is the one before, and the same from the end: of two columns of a
   block, then of all four, and last what comes from the block before. */
CALL float8 chain_ahead(float8 v, float8 entering, const hmm_factors_t *f, int k)
{
    v = FUSED(f->ahead_1[k], v.s00124456, v);
    v = FUSED(f->ahead_2[k], v.s01014545, v);
    const float4 first = FUSED(f->ahead[k].lo, entering.lo, v.lo);
    return (float8)(first, FUSED(f->ahead[k].hi, first.s3333, v.hi));
}

CALL float8 chain_behind(float8 v, float8 entering, const hmm_factors_t *f, int k)
{
    v = FUSED(f->behind_1[k], v.s12335677, v);
    v = FUSED(f->behind_2[k], v.s23236767, v);
    const float4 last = FUSED(f->behind[k].hi, entering.lo, v.hi);
    return (float8)(FUSED(f->behind[k].lo, last.s0000, v.lo), last);
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
            const float8 next = chain_ahead(opened, entering, f, k);
            const float8 d = COLUMN_BEFORE(next, entering);
            edges[r].gaps[k] = next.s77777777;
            x = FUSED(f->closes[k], i + (SABOTAGE == 1 ? i : d), x);
            y[k] = FUSED(f->extends[k], i, opened);
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
    float8 z = kept[0], v[SETS], extended[SETS], closing[SETS], largest = z;
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        v[k] = kept[1 + k];
        extended[k] = closing[k] = (float8)(0.0f);
    }
#pragma unroll
    for (int r = TILE_ROWS - 1; r >= 0; r--) {
        __global const float8 *forwards = states + r * row_stride;
        const float8 m = COLUMN_AFTER(z, edges[r].corner * ratio), last = r == end_row ? end : (float8)(0.0f);
        float8 from_match = FUSED(f->match, m, last);
        edges[r].corner = z;
        largest = (float8)(0.0f);
#pragma unroll
        for (int k = 0; k < SETS; k++) {
            const float8 closed = FUSED(f->closes[k], m, last), entering = edges[r].gaps[k] * ratio;
            const float8 d = chain_behind(closed, entering, f, k);
            const float8 w = COLUMN_AFTER(d, entering);
            edges[r].gaps[k] = d.s00000000;
            from_match = FUSED(f->opens[k], v[k] + w, from_match);
            if (start && r == 0) start[k] = f->opens[k].s0 * (v[k].s0 + w.s0);
            const float8 forward_i = forwards[1 + 2 * k], forward_d = forwards[2 + 2 * k];
            if (COUNTS) extended[k] = FUSED(forward_d, w, FUSED(forward_i, v[k], extended[k]));
            if (COUNTS) closing[k] = FUSED(forward_i + forward_d, m, closing[k]);
            v[k] = FUSED(f->extends[k], v[k], closed);
            largest += v[k];
        }
        matches[r] = forwards[0] * from_match * scale;
        z = odds[letters[r]] * from_match;
        largest += from_match;
        if (start && r == 0) start[SETS] = FUSED(f->end, m.s0, from_match.s0);
    }
#pragma unroll
    for (int k = 0; k < SETS; k++) {
        if (COUNTS) add_wholes(&sums->extends[k], extended[k] * scale * f->extends[k]);
        if (COUNTS) add_wholes(&sums->closes[k], closing[k] * scale * f->closes[k]);
    }
    const int grown = exponent_of_largest(largest);
    const float8 factor = (float8)(power_of_2(-grown));
    kept[0] = z * factor;
#pragma unroll
    for (int k = 0; k < SETS; k++) kept[1 + k] = v[k] * factor;
    return grown;
}
