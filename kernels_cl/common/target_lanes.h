/* Lanes that hold a sequence each and take the next one when it has ended, for CPUs.

   Macros
     LANES    sequences at once
     COLUMNS  residues of each that are worked on together: 1, 2 or 4

   Sequences come from a list and a counter that all cores share. */

#include "common/saturated.h"

#ifndef COLUMNS
#define COLUMNS 2
#endif

/* A code that scores 0 against everything. */
#define NO_LETTER 0xa0

/* Residues of a lane that follow each other, wherever they begin. */
#if COLUMNS == 1
typedef uchar together_t;
#elif COLUMNS == 2
typedef ushort together_t;
#else
typedef uint together_t;
#endif
typedef together_t loose_t __attribute__((aligned(1)));

typedef together_t all_together_t __attribute__((ext_vector_type(LANES)));
typedef uchar lane_codes_t __attribute__((ext_vector_type(LANES)));
typedef uint uints_t __attribute__((ext_vector_type(LANES)));
typedef int ints_t __attribute__((ext_vector_type(LANES)));

typedef struct {
    int row[LANES]; /* the sequence; NOBODY if there is none */
    ints_t left;    /* residues of it that were not worked on; LONG_TIME, more or less, if there is none */
    uints_t at;     /* where they begin; 0 if there is none */
    uints_t step;   /* COLUMNS; 0 if there is none */
    int n_lanes;    /* in use */
    int n_idle;     /* of these */
    int is_dry;     /* the list is at its end */
} lanes_t;

#define NOBODY (-1)
#define LONG_TIME INT_MAX

void fill_lane(lanes_t *lanes, const int lane, const int row, const int left, const uint at, const uint step)
{
    lanes->row[lane] = row;
    ((int *)&lanes->left)[lane] = left;
    ((uint *)&lanes->at)[lane] = at;
    ((uint *)&lanes->step)[lane] = step;
}

/* Let the sequence of a lane go. */
void let_go(lanes_t *lanes, const int lane)
{
    fill_lane(lanes, lane, NOBODY, LONG_TIME, 0, 0);
    lanes->n_idle++;
}

/* All lanes without a sequence; each core takes no more than its share of few. */
void begin_lanes(lanes_t *lanes, const uint n_rows)
{
    const uint share = (n_rows + (uint)get_global_size(0) - 1) / (uint)get_global_size(0);
    for (int lane = 0; lane < LANES; lane++) let_go(lanes, lane);
    lanes->n_lanes = lanes->n_idle = min(share, (uint)LANES);
    lanes->is_dry = 0;
}

/* Give idle lanes the next sequences; say which ones have got one. */
void take_sequences(lanes_t *lanes, score_t *is_new, __global const int *offsets, __global const int *rows,
                    const uint n_rows, __global uint *next)
{
    for (int lane = 0; lane < LANES; lane++) {
        is_new[lane] = 0;
        if (lane >= lanes->n_lanes || lanes->row[lane] != NOBODY || lanes->is_dry) continue;
        const uint place = atomic_inc(next);
        if (place >= n_rows) {
            lanes->is_dry = 1;
            continue;
        }
        const int row = rows[place];
        fill_lane(lanes, lane, row, offsets[row + 1] - offsets[row], offsets[row], COLUMNS);
        lanes->n_idle--;
        is_new[lane] = -1;
    }
}

/* Residues of the sequence that ends first. */
int fewest_left(const lanes_t *lanes)
{
    const int *left = (const int *)&lanes->left;
    int fewest = LONG_TIME;
    for (int lane = 0; lane < LANES; lane++) fewest = left[lane] < fewest ? left[lane] : fewest;
    return fewest;
}

/* The next residues of all lanes, of which none ends. An idle lane reads other residues for nothing. */
__attribute__((always_inline))
void read_residues(together_t *residues, lanes_t *lanes, __global const uchar *codes)
{
    for (int lane = 0; lane < LANES; lane++)
        residues[lane] = *(__global const loose_t *)(codes + ((const uint *)&lanes->at)[lane]);
    lanes->at += lanes->step;
}

/* The last residues of lanes that end, filled up; the next ones of the others. */
void read_last_residues(together_t *residues, lanes_t *lanes, __global const uchar *codes)
{
    for (int lane = 0; lane < LANES; lane++) {
        const int left = ((const int *)&lanes->left)[lane];
        __global const uchar *code = codes + ((const uint *)&lanes->at)[lane];
        together_t filled = 0;
        if (left < COLUMNS || lanes->row[lane] == NOBODY) {
            for (int c = COLUMNS - 1; c >= 0; c--)
                filled = (together_t)(filled << 8 | (c < left && lanes->row[lane] != NOBODY ? code[c] : NO_LETTER));
        } else {
            filled = *(__global const loose_t *)code;
        }
        residues[lane] = filled;
    }
    lanes->at += lanes->step;
}

/* Sort the residues of lanes by column: uchar[COLUMNS][LANES]. */
__attribute__((always_inline))
void sort_columns(lane_codes_t *columns, const together_t *residues)
{
    const all_together_t all = *(const all_together_t *)residues;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) columns[c] = __builtin_convertvector(all >> (together_t)(8 * c), lane_codes_t);
}
