/* What the letters of a few columns score against each letter of the query, for all lanes at once.

   Two byte shuffles look 32 letters up in a table of 32 scores, where the processor has them.

   Macros
     LANES, WIDTH  see common/saturated.h
     COLUMNS       residues of each lane */

#include "common/byte_shuffles.h"
#include "common/codes.h"
#include "common/target_lanes.h"

#define CODES_AT_ONCE (COLUMNS * LANES)

typedef char lane_bytes_t __attribute__((ext_vector_type(LANES)));

#if HAS_BYTE_SHUFFLES && CODES_AT_ONCE % 32 == 0

#define CHUNKS (CODES_AT_ONCE / 32)

typedef uchar codes_t __attribute__((ext_vector_type(32)));

/* Where a shuffle finds each letter in the first and in the second half of a table. It gives 0 for a place
   with its highest bit set, so each letter is found in one half, and NO_LETTER in none. */
typedef struct {
    chunk_t first[CHUNKS], second[CHUNKS];
} places_t;

__attribute__((always_inline))
places_t places_of(const uchar *codes)
{
    places_t places;
#pragma unroll
    for (int k = 0; k < CHUNKS; k++) {
        const codes_t code = ((const codes_t *)codes)[k];
        places.first[k] = (chunk_t)((code < (codes_t)(0x8f) ? code : (codes_t)(0x8f)) + (codes_t)(0x70));
        places.second[k] = (chunk_t)(code - (codes_t)(16));
    }
    return places;
}

__attribute__((always_inline))
void look_up_letters(char *found, __global const char *table, const places_t *places)
{
    const half_t first = ((__global const half_t *)table)[0], second = ((__global const half_t *)table)[1];
    const bytes_t firsts = TWICE(first), seconds = TWICE(second);
#pragma unroll
    for (int k = 0; k < CHUNKS; k++)
        ((chunk_t *)found)[k] = __builtin_ia32_pshufb256((chunk_t)firsts, places->first[k])
                              | __builtin_ia32_pshufb256((chunk_t)seconds, places->second[k]);
}

#else

typedef struct {
    const uchar *codes;
} places_t;

places_t places_of(const uchar *codes)
{
    places_t places;
    places.codes = codes;
    return places;
}

void look_up_letters(char *found, __global const char *table, const places_t *places)
{
    for (int k = 0; k < CODES_AT_ONCE; k++) found[k] = places->codes[k] < N_CODES ? table[places->codes[k]] : 0;
}

#endif

/* Fill scores_t[n_letters][COLUMNS] with what the codes, uchar[COLUMNS][LANES], score. */
__attribute__((always_inline))
void score_letters(scores_t *scores, const uchar *codes, __global const char *tables, const int n_letters)
{
    const places_t places = places_of(codes);
    for (int letter = 0; letter < n_letters; letter++, scores += COLUMNS) {
#if WIDTH == 8
        look_up_letters((char *)scores, tables + letter * N_CODES, &places);
#else
        char found[CODES_AT_ONCE] __attribute__((aligned(64)));
        look_up_letters(found, tables + letter * N_CODES, &places);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) scores[c] = __builtin_convertvector(((const lane_bytes_t *)found)[c],
                                                                              scores_t);
#endif
    }
}
