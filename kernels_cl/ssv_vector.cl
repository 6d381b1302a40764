/* SSV, the first filter of HMMER3: the best ungapped alignment, for CPUs.

   A work-item is a core. The model is striped over explicit vectors of signed bytes: node
   lane * VECTORS + q sits in lane `lane` of vector q, so the left neighbor of a whole vector is the
   vector before it, and only the last one must be shifted by a lane. A cell is the cell left of it in
   the row before plus a gain, saturated: the least value of a byte is the score of beginning, and
   where the greatest is reached the bytes of HMMER have overflowed before.

   Buffers
     codes     uchar[n_residues]               letter codes, sequence after sequence
     offsets   int[n + 1]                      where each begins
     gains     char[N_CODES][VECTORS][LANES]   bias less cost of each letter; -127 at nodes beyond the model
     next      int[1]                          in: 0; the next sequence to be taken
     extremes  int[n]                          out: the best cell and 256, at most 255

   Macros
     LANES     16 or 32: bytes in a vector
     VECTORS   vectors a row, >= 1, LANES * VECTORS >= M
     SABOTAGE  1 plants a fault, for the test of the tests

   Geometry: one work-item a core, work-groups of 1; they take sequences from a counter. */

#ifndef LANES
#define LANES 32
#endif
#ifndef VECTORS
#define VECTORS 8
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define BEGIN ((chars)(-128))
#define AT_ONCE 16

typedef char chars __attribute__((ext_vector_type(LANES)));
typedef short shorts __attribute__((ext_vector_type(LANES)));

#if LANES == 32
#define UP(v)                                                                                              \
    __builtin_shufflevector(v, BEGIN, 32, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, \
                            19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
#else
#define UP(v) __builtin_shufflevector(v, BEGIN, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#endif

/* Compilers know this way of writing a saturated sum and make one instruction of it. */
chars sum(chars a, chars b)
{
    shorts wide = __builtin_convertvector(a, shorts) + __builtin_convertvector(b, shorts);
    wide = wide > (shorts)(127) ? (shorts)(127) : wide;
    wide = wide < (shorts)(-128) ? (shorts)(-128) : wide;
    return __builtin_convertvector(wide, chars);
}

__kernel void ssv_score(__global const uchar *codes, __global const int *offsets, const uint n,
                        __global const chars *gains, __global int *next, __global int *extremes)
{
    chars cells[VECTORS];
    for (uint row = atomic_inc(next); row < n; row = atomic_inc(next)) {
        __global const uchar *code = codes + offsets[row];
        __global const uchar *end = codes + offsets[row + 1];
        chars best = BEGIN;
        for (int q = 0; q < VECTORS; q++) cells[q] = BEGIN;
        for (; code < end; code++) {
            __global const chars *gain = gains + (uint)*code * VECTORS;
            const chars first = UP(cells[VECTORS - 1]);
            /* Downwards, so that each cell still finds its neighbor of the row before. */
#if VECTORS <= AT_ONCE
#pragma unroll
#endif
            for (int q = VECTORS - 1; q > 0; q--) {
                cells[q] = sum(cells[q - 1], gain[q]);
                best = best > cells[q] ? best : cells[q];
            }
            cells[0] = sum(first, gain[0]);
            best = best > cells[0] ? best : cells[0];
        }
        char highest = -128;
        for (int lane = 0; lane < LANES; lane++) highest = best[lane] > highest ? best[lane] : highest;
        extremes[row] = (highest < 0 ? highest + 256 : 255) - SABOTAGE;
    }
}
