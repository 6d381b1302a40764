/* SSV, the first filter of HMMER3: the best ungapped alignment, for CPUs.

   A work-item is a core. The model is striped over explicit vectors of signed bytes: node
   lane * VECTORS + q sits in lane `lane` of vector q, so the left neighbor of a whole vector is the
   vector before it, and only the last one must be shifted by a lane. A cell is the cell left of it in
   the row before plus a biased score, saturated: the least value of a byte is the score of beginning, and
   where the greatest is reached the bytes of HMMER have overflowed before.

   Where a row has few vectors most of the time goes by waiting for the shifted one, so several
   sequences are worked on at once; each has its place and takes the next one when its last has ended.

   Buffers
     codes     uchar[n_residues]               letter codes, sequence after sequence
     offsets   int[n + 1]                      where each begins
     models    model_t[n_models]               see common/models.h; parts: VECTORS for all
     tables    of each model char[N_CODES][VECTORS][LANES]   bias less cost of each letter; -127 at nodes beyond it
     next      uint[n_models]                  in: 0; the next sequence to be taken
     extremes  int[][n]                        out: by model, best cell + 256, at most 255

   Macros
     LANES     16, 32 or 64: bytes in a vector
     VECTORS   vectors a row, >= 1, LANES * VECTORS >= M
     SEQUENCES worked on at once; their rows should fit into registers
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences by a counter. */

#ifndef LANES
#define LANES 32
#endif
#ifndef VECTORS
#define VECTORS 8
#endif
#ifndef SEQUENCES
#define SEQUENCES 1
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#include "common/models.h"
#include "common/vectors.h"

#define BEGIN_CELLS ((chars)(-128))
#define MAX_UNROLLED_VECTORS 16

typedef char chars __attribute__((ext_vector_type(LANES)));
typedef char half_chars __attribute__((ext_vector_type(LANES / 2)));
typedef short shorts __attribute__((ext_vector_type(LANES)));

#define UP_TO_14 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
#define UP_TO_30 UP_TO_14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
#define UP_TO_62 UP_TO_30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, \
                 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62
#if LANES == 64
#define CELLS_UP(v) __builtin_shufflevector(v, BEGIN_CELLS, 64, UP_TO_62)
#elif LANES == 32
#define CELLS_UP(v) __builtin_shufflevector(v, BEGIN_CELLS, 32, UP_TO_30)
#else
#define CELLS_UP(v) __builtin_shufflevector(v, BEGIN_CELLS, 16, UP_TO_14)
#endif

/* Compilers know this way of writing a saturated sum and make one instruction of it. */
chars sum(chars a, chars b)
{
    shorts wide = __builtin_convertvector(a, shorts) + __builtin_convertvector(b, shorts);
    wide = wide > (shorts)(127) ? (shorts)(127) : wide;
    wide = wide < (shorts)(-128) ? (shorts)(-128) : wide;
    return __builtin_convertvector(wide, chars);
}

typedef struct {
    chars cells[VECTORS], best;
    __global const uchar *code; /* the next residue */
    uint row;
    int remaining;              /* residues */
} row_place_t;

/* Take the next sequence; return 0 if there is none. A slot without a sequence rescores residues of row 0; its result
   is dropped. */
int take_sequence(row_place_t *place, __global const uchar *codes, __global const int *offsets, uint n,
                  __global uint *next)
{
    const uint row = atomic_inc(next);
    const int is_taken = row < n;
    place->row = row;
    place->code = codes + (is_taken ? offsets[row] : 0);
    place->remaining = is_taken ? offsets[row + 1] - offsets[row] : INT_MAX;
    place->best = BEGIN_CELLS;
#pragma unroll
    for (int q = 0; q < VECTORS; q++) place->cells[q] = BEGIN_CELLS;
    return is_taken;
}

/* One residue of a sequence. */
void next_residue(row_place_t *place, __global const chars *biased_score)
{
    chars *cells = place->cells, best = place->best;
    const chars first = SABOTAGE ? cells[VECTORS - 1] : CELLS_UP(cells[VECTORS - 1]);
    /* Downwards, so that each cell still finds its neighbor of the row before. */
#if VECTORS <= MAX_UNROLLED_VECTORS
#pragma unroll
#endif
    for (int q = VECTORS - 1; q > 0; q--) {
        cells[q] = sum(cells[q - 1], biased_score[q]);
        best = LARGER(best, cells[q]);
    }
    cells[0] = sum(first, biased_score[0]);
    place->best = LARGER(best, cells[0]);
}

int highest_cell(chars best)
{
#if LANES == 64
    const half_chars of_32 = LARGER(best.lo, best.hi);
    const char16 of_16 = LARGER(of_32.lo, of_32.hi);
#elif LANES == 32
    const char16 of_16 = LARGER(best.lo, best.hi);
#else
    const char16 of_16 = best;
#endif
    const char8 of_8 = LARGER(of_16.lo, of_16.hi);
    const char4 of_4 = LARGER(of_8.lo, of_8.hi);
    const char2 of_2 = LARGER(of_4.lo, of_4.hi);
    return LARGER(of_2.x, of_2.y);
}

__attribute__((always_inline))
void score_all(__global const uchar *codes, __global const int *offsets, uint n, __global const chars *biased_scores,
               __global uint *next, __global int *extremes)
{
    row_place_t place[SEQUENCES];
    int n_taken = 0;
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) n_taken += take_sequence(place + s, codes, offsets, n, next);
    while (n_taken > 0) {
        int n_steps = INT_MAX; /* residues until the first ends */
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) n_steps = min(n_steps, place[s].remaining);
        for (int i = 0; i < n_steps; i++) {
#pragma unroll
            for (int s = 0; s < SEQUENCES; s++)
                next_residue(place + s, biased_scores + (uint)place[s].code[i] * VECTORS);
        }
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) {
            place[s].remaining -= n_steps;
            if (place[s].row >= n) continue;
            place[s].code += n_steps;
            if (place[s].remaining > 0) continue;
            const int extreme = highest_cell(place[s].best);
            extremes[place[s].row] = extreme < 0 ? extreme + 256 : 255;
            n_taken -= !take_sequence(place + s, codes, offsets, n, next);
        }
    }
}

__kernel void ssv_score(__global const uchar *codes, __global const int *offsets, const uint n,
                        __global const model_t *models, const uint n_models, __global const uchar *tables,
                        __global uint *next, __global int *extremes)
{
    for (uint m = 0; m < n_models; m++) {
        const model_t model = models[m];
        score_all(codes, offsets, n, TABLE_OF(chars, tables, model, 0), next + m, extremes + model.number * n);
    }
}
