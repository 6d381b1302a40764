/* What the letters of a block score, for all lanes.

   A row of the matrix has the scores of one letter of a target with each of a query. Where the processor has byte
   shuffles, they look up 32 rows of a block in it at once; what is found lane by lane is then transposed. */

#include "common/byte_shuffles.h"
#include "common/codes.h"
#include "common/pair_blocks.h"

#if HAS_BYTE_SHUFFLES && LANES % 16 == 0 && BLOCK % 32 == 0
#define SHUFFLES_LETTERS 1 /* of bytes, and whole vectors of letters */
#else
#define SHUFFLES_LETTERS 0
#endif

#if SHUFFLES_LETTERS

typedef score_t half_scores_t __attribute__((ext_vector_type(16), aligned(1)));

#define SHUFFLE(v, places) \
    __builtin_astype(__builtin_ia32_pshufb256(__builtin_astype(v, chunk_t), __builtin_astype(places, chunk_t)), bytes_t)
#define LOW_BYTES(a, b) \
    __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 16, 48, 17, 49, 18, 50, 19, \
                            51, 20, 52, 21, 53, 22, 54, 23, 55)
#define HIGH_BYTES(a, b) \
    __builtin_shufflevector(a, b, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 24, 56, 25, 57, 26, \
                            58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63)

/* Byte k of vector n becomes byte n of vector k, in each half of them. */
CALL void transpose(bytes_t *v)
{
#pragma unroll
    for (int round = 0; round < 4; round++) {
        bytes_t w[16];
#pragma unroll
        for (int n = 0; n < 8; n++) {
            w[2 * n] = LOW_BYTES(v[n], v[n + 8]);
            w[2 * n + 1] = HIGH_BYTES(v[n], v[n + 8]);
        }
#pragma unroll
        for (int n = 0; n < 16; n++) v[n] = w[n];
    }
}

/* What stands at 32 places of a table of 32 bytes, given both halves of it twice. */
CALL bytes_t look_up_bytes(bytes_t low, bytes_t high, bytes_t places)
{
    /* A shuffle gives 0 for a place below 0. */
    return SHUFFLE(low, places < (bytes_t)(16) ? places : (bytes_t)(-1)) | SHUFFLE(high, places - (bytes_t)(16));
}

/* 32 rows of 16 lanes, in one column after the other. */
CALL void look_up_rows(__global const uchar *const *query, __global const uchar *const *target,
                       __global const char *matrix, int first, __global score_t *table)
{
    bytes_t places[16], other_places[16];
    for (int lane = 0; lane < 16; lane++) {
        const bytes_t codes = *(__global const bytes_t *)(query[lane] + first);
        /* A shuffle gives 0 for a place below 0. */
        places[lane] = codes < (bytes_t)(16) ? codes : (bytes_t)(-1);
        other_places[lane] = codes - (bytes_t)(16);
    }
    for (int c = 0; c < BLOCK; c++) {
        bytes_t found[16];
#pragma unroll
        for (int lane = 0; lane < 16; lane++) {
            __global const half_t *row = (__global const half_t *)(matrix + (int)target[lane][c] * N_CODES);
            const bytes_t scores = TWICE(row[0]), other_scores = TWICE(row[1]);
            found[lane] = SHUFFLE(scores, places[lane]) | SHUFFLE(other_scores, other_places[lane]);
        }
        transpose(found);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            __global score_t *row = table + ((first + k) * BLOCK + c) * LANES;
            *(__global half_scores_t *)row = __builtin_convertvector(found[k].lo, half_scores_t);
            *(__global half_scores_t *)(row + 16 * BLOCK * LANES) = __builtin_convertvector(found[k].hi, half_scores_t);
        }
    }
}

CALL void look_up_block(__global const uchar *const *query, __global const uchar *const *target,
                        __global const char *matrix,
                  __global scores_t *table)
{
    for (int lane = 0; lane < LANES; lane += 16)
        for (int first = 0; first < BLOCK; first += 32)
            look_up_rows(query + lane, target + lane, matrix, first, (__global score_t *)table + lane);
}

#else

CALL void look_up_block(__global const uchar *const *query, __global const uchar *const *target,
                        __global const char *matrix,
                  __global scores_t *table)
{
    for (int lane = 0; lane < LANES; lane++) {
        for (int c = 0; c < BLOCK; c++) {
            __global const char *row = matrix + (int)target[lane][c] * N_CODES;
            __global score_t *scores = (__global score_t *)(table + c) + lane;
            for (int r = 0; r < BLOCK; r++) scores[r * BLOCK * LANES] = row[query[lane][r]];
        }
    }
}

#endif
