/* A tile of the matrix of one long pair in vectors (kernels_cl/long_pair_vector.cl): its rows, and one column after the
   other.

   Macros
     VECTORS         vectors of a column, a multiple of 4
     WIDTH           16 or 32: bits of what no score of a tile may be further from that of its corner
     LOCAL, TRACED, SABOTAGE   see common/long_pair_plan.h */

#define LANES 16
#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef STRIP
#define STRIP (LANES * VECTORS)
#endif
#ifndef WIDTH
#define WIDTH 16
#endif
#ifndef TRACED_COLUMNS
#define TRACED_COLUMNS 128
#endif

#include "common/long_pair_plan.h"
#include "common/pair_directions.h"

#if WIDTH == 16
typedef short number_striped_t;
#define MIN_NUMBER (-32768)
#define MAX_NUMBER 32767
#define NO_GAP (-30000) /* what a gap is worth that does not come: costs can still be taken from it */
#else
typedef int number_striped_t;
#define MIN_NUMBER INT_MIN
#define MAX_NUMBER INT_MAX
#define NO_GAP (-(1 << 30))
#endif

typedef number_striped_t tile_numbers __attribute__((ext_vector_type(LANES)));
typedef char striped_bytes __attribute__((ext_vector_type(LANES)));
typedef uchar marks __attribute__((ext_vector_type(LANES)));
#define NUMBERS(u) ((tile_numbers)((number_striped_t)(u)))

/* Rows of a tile by number, in the lanes of vectors. */
typedef union { tile_numbers v[VECTORS]; number_striped_t lane[VECTORS][LANES]; } rows_striped_t;
#define ROW_LANE(rows, r) (rows).lane[(r) % VECTORS][(r) / VECTORS]

/* Scores of a column, and the gaps that enter the next one, less `base`. */
typedef struct { rows_striped_t h, e; int base; } column_t;

/* What gaps cost, and a score of 0 less the base. */
typedef struct { tile_numbers first, next_one, zero; } vector_costs_t;

#define NONE NUMBERS(NO_GAP)
#define LANES_UP_1(v) __builtin_shufflevector(v, NONE, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define LANES_UP_2(v) __builtin_shufflevector(v, NONE, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
#define LANES_UP_4(v) __builtin_shufflevector(v, NONE, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
#define LANES_UP_8(v) __builtin_shufflevector(v, NONE, 16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7)

/* Whether a comparison is true in a lane. */
CALL int striped_any_lane(tile_numbers mask)
{
#if WIDTH == 16
    const long4 four = __builtin_astype(mask, long4);
#else
    const long4 four = __builtin_astype(mask.lo | mask.hi, long4);
#endif
    const long2 two = four.lo | four.hi;
    return (two.x | two.y) != 0;
}

/* A score less the base, or what is nearest to that. */
CALL number_striped_t less_base(int score, int base)
{
#if WIDTH == 16
    const int least = LARGER(score - base, MIN_NUMBER); /* CPU drivers call their built-in functions */
    return (number_striped_t)(least > MAX_NUMBER ? MAX_NUMBER : least);
#else
    return score - base;
#endif
}

CALL vector_costs_t striped_costs_of(const long_costs_t *c, int base)
{
    /* Where 0 is too far below the base for its tile_numbers, no score of the tile is near it. */
    return (vector_costs_t){NUMBERS(c->first), NUMBERS(c->next_one), NUMBERS(max(-base, NO_GAP))};
}

/* What enters the first row of each lane from the rows of all lanes above it, given what leaves each lane. */
CALL tile_numbers between_lanes(tile_numbers leaving, const vector_costs_t *c)
{
    const tile_numbers across = c->next_one * NUMBERS(VECTORS);
    tile_numbers v = LANES_UP_1(leaving);
    if (LOCAL && !striped_any_lane(v - across > c->zero)) return v; /* no gap outlasts the rows of a lane */
    v = LARGER(v, LANES_UP_1(v) - across);
    v = LARGER(v, LANES_UP_2(v) - across * NUMBERS(2));
    v = LARGER(v, LANES_UP_4(v) - across * NUMBERS(4));
    return LARGER(v, LANES_UP_8(v) - across * NUMBERS(8));
}

/* The next column: `diagonal` has the scores above and before the first row of each lane, `gap` what enters it from
   above. Return what leaves each lane downwards. `highest` becomes the highest score of each lane that does not end in
   a gap downwards, as none of the highest of all does; `cells` gets what decides on the way back. */
CALL tile_numbers take_column(const column_t *before, column_t *s, __global const striped_bytes *scores,
                              tile_numbers diagonal, tile_numbers gap, const vector_costs_t *c,
                              tile_numbers *highest, __local marks *cells)
{
    tile_numbers most = NUMBERS(MIN_NUMBER);
#pragma unroll 4
    for (int v = 0; v < VECTORS; v++) {
        const tile_numbers paired = diagonal + __builtin_convertvector(scores[v], tile_numbers), e = before->e.v[v];
        tile_numbers h = LARGER(paired, e);
        if (LOCAL) h = LARGER(h, c->zero);
        most = LARGER(most, h);
        const tile_numbers opening = (SABOTAGE ? h - NUMBERS(1) : h) - c->first, entering = gap;
        gap = LARGER(entering - c->next_one, opening); /* to go on with a gap costs no more than to open another one */
        h = LARGER(h, entering);
        const tile_numbers right = h - c->first, next = LARGER(e - c->next_one, right);
#if TRACED
        tile_numbers cell = h == paired ? NUMBERS(FROM_BOTH) : h == e ? NUMBERS(FROM_TARGET) : NUMBERS(FROM_QUERY);
        if (LOCAL) cell = h <= c->zero ? NUMBERS(FROM_NOTHING) : cell;
        cell += next == right ? NUMBERS(CELL_OPENS_TARGET) : NUMBERS(0);
        cell += gap == right ? NUMBERS(CELL_OPENS_QUERY) : NUMBERS(0);
        cells[v] = __builtin_convertvector(cell, marks);
#endif
        diagonal = before->h.v[v];
        s->h.v[v] = h;
        s->e.v[v] = next;
    }
    *highest = most;
    return gap;
}

/* Take over the left edge of a tile. */
CALL void striped_load_left(column_t *s, __global const int2 *edge, int n_rows, int base)
{
    s->base = base;
#pragma unroll 1
    for (int r = 0; r < STRIP; r++) {
        const int2 cell = edge[min(r, n_rows - 1)];
        ROW_LANE(s->h, r) = cell.x - base, ROW_LANE(s->e, r) = less_base(cell.y, base);
    }
}

CALL void striped_store_right(const column_t *s, __global int2 *edge, int n_rows)
{
#pragma unroll 1
    for (int r = 0; r < n_rows; r++) edge[r] = (int2)(ROW_LANE(s->h, r) + s->base, ROW_LANE(s->e, r) + s->base);
}

CALL __global const striped_bytes *scores_of(const part_t *g, int strip)
{
    const int at = g->plan[FIRST_ROW] / STRIP + strip;
    return (__global const striped_bytes *)g->scores + (size_t)at * g->plan[N_LETTERS] * VECTORS;
}
