/* A pair of a pair HMM in the shape for CPUs: where it is computed, and how what is found leaves it. */

#include "common/pair_hmm_tiles.h"

typedef union { float8 v; float lane[TILE_COLUMNS]; } tile_row_t;

typedef struct {
    int m, n, blocks, strip_groups, n_groups, n_strips, n_letters;
    __global const uchar *x, *y, *places;
    __global int8 *shares;
    __global float8 *odds, *kept, *kept_back, *above, *states;
    __global int *units, *units_back, *above_units, *state_units;
    __global int *list, *row_ends; /* entries as they are found: row, column, value; where those of a row end */
} hmm_pair_t;

/* Lay the scratch memory of a pair out: see `rooms` of the stage. */
CALL void lay_out(hmm_pair_t *p, __global float8 *scratch)
{
    const size_t blocks = p->blocks, kept = N_KEPT * blocks, letters = p->n_letters + 2;
    p->odds = scratch;
    p->shares = (__global int8 *)(p->odds + letters * blocks);
    p->kept = p->odds + (COUNTS ? 2 : 1) * letters * blocks;
    p->kept_back = p->kept + kept;
    p->above = p->kept_back + kept;
    p->states = p->above + kept * p->n_strips;
    p->units = (__global int *)(p->states + (size_t)p->strip_groups * TILE_ROWS * N_STATES * blocks);
    p->units_back = p->units + blocks;
    p->above_units = p->units_back + blocks;
    p->state_units = p->above_units + blocks * p->n_strips;
    p->row_ends = p->state_units + blocks * p->strip_groups;
    p->list = p->row_ends + p->m + 1;
}

CALL int any_at_least(float8 v, float least)
{
    union { int8 v; ulong part[4]; } u;
    u.v = v >= least;
    return (u.part[0] | u.part[1] | u.part[2] | u.part[3]) != 0;
}

/* Add the posteriors of a tile to those that are kept; return how many there are. */
__attribute__((noinline))
int list_tile(const hmm_pair_t *p, const float8 *matches, float least, int group, int b, int n_found, int most)
{
    for (int r = TILE_ROWS - 1; r >= 0; r--) {
        const int i = group * TILE_ROWS + r;
        tile_row_t found;
        found.v = matches[r];
        for (int lane = TILE_COLUMNS - 1; lane >= 0; lane--) {
            const float value = found.lane[lane];
            if (i == 0 || value < least) continue;
            if (n_found < most) {
                p->list[3 * n_found] = i - 1;
                p->list[3 * n_found + 1] = b * TILE_COLUMNS + lane - 1;
                p->list[3 * n_found + 2] = as_int(min(value, 1.0f));
            }
            n_found++;
        }
    }
    return n_found;
}

/* The sums of the matches of each letter over the columns with each letter. */
CALL void write_matches(const hmm_pair_t *p, __global float *matches)
{
    const int width = p->blocks * TILE_COLUMNS;
    __global const int *row = (__global const int *)p->shares;
    for (int a = 0; a < p->n_letters; a++, row += width, matches += p->n_letters) {
        long sums[MAX_LETTERS] = {0};
        for (int j = 0; j < p->n; j++) sums[p->places[p->y[j]]] += row[j + 1];
        for (int b = 0; b < p->n_letters; b++) matches[b] = (float)sums[b] * (1.0f / OF_MATCH);
    }
}

/* The listed posteriors by row and column, and what they leave of 1. */
CALL void write_listed(const hmm_pair_t *p, int n_found, __global int2 *entries, __global float *values,
                        __global float *gaps)
{
    for (int i = 0; i < p->m + p->n; i++) gaps[i] = 1.0f;
    for (int i = 0; i <= p->m; i++) p->row_ends[i] = 0;
    for (int e = 0; e < n_found; e++) p->row_ends[p->list[3 * e]]++;
    for (int i = 1; i < p->m; i++) p->row_ends[i] += p->row_ends[i - 1];
    for (int e = 0; e < n_found; e++) { /* those of a row were found from its end on */
        const int place = --p->row_ends[p->list[3 * e]];
        entries[place] = (int2)(p->list[3 * e], p->list[3 * e + 1]);
        values[place] = as_float(p->list[3 * e + 2]);
    }
    for (int e = 0; e < n_found; e++) {
        gaps[entries[e].x] -= values[e];
        gaps[p->m + entries[e].y] -= values[e];
    }
    for (int i = 0; i < p->m + p->n; i++) gaps[i] = LARGER(gaps[i], MIN_GAP);
}
