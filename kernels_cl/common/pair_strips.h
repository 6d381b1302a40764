/* Two sequences at once through strips of a model or a query, whose letters make one index into a table of biased
   scores in local memory: what ssv_item.cl and smith_waterman_item.cl share.

   Macros, all given by the host or the kernel; the defaults only let the file compile alone
     STRIP_WIDTH   columns of the model, or residues of the query, a strip; even
     PAIR_LETTERS  letters with scores of their own, the last one for what is after the end of a sequence
     N_PAIRS       pairs of letters; the last one is that of two ends
     GROUP         work-items a work-group, a multiple of 32
     STRIDE        16-byte units from pair to pair of the table in local memory; odd, or banks collide */

#include "common/pairs.h"

#ifndef STRIP_WIDTH
#define STRIP_WIDTH 24
#endif
#ifndef PAIR_LETTERS
#define PAIR_LETTERS 22
#endif
#ifndef N_PAIRS
#define N_PAIRS (PAIR_LETTERS * PAIR_LETTERS)
#endif
#ifndef GROUP
#define GROUP 64
#endif
#ifndef STRIDE
#define STRIDE (((STRIP_WIDTH / 2 + 3) / 4) | 1)
#endif

#define HALF (STRIP_WIDTH / 2)
#define HALF_FOURS ((HALF + 3) / 4)
#define END_LETTER (PAIR_LETTERS - 1)
#define UNSCORED 255

/* Write the pairs of classes of two sequences, the longer one first, four residues a word; returns 1 if the first has a
   letter that is UNSCORED, 2 if the second has, 3 if both have. */
int lay_out_pair(__global const uchar *a, int length, __global const uchar *b, int other,
                 __constant const uchar *classes, __global ushort4 *word)
{
    int unscored = 0;
    for (int i = 0; i < length; i += 4, word += 32) {
        ushort four[4];
        for (int k = 0; k < 4; k++) {
            uint x = i + k < length ? classes[a[i + k]] : END_LETTER;
            uint y = i + k < other ? classes[b[i + k]] : END_LETTER;
            unscored |= (x == UNSCORED) | (y == UNSCORED) << 1;
            /* Any class will do: this sequence is scored elsewhere, only its neighbor counts here. */
            x = x == UNSCORED ? 0 : x;
            y = y == UNSCORED ? 0 : y;
            four[k] = (ushort)min(x * PAIR_LETTERS + y, (uint)N_PAIRS - 1);
        }
        *word = (ushort4)(four[0], four[1], four[2], four[3]);
    }
    return unscored;
}

/* Word k of uint[n_strips][N_PAIRS][HALF]: the biased scores, char[n_strips * STRIP_WIDTH][PAIR_LETTERS], of both
   sequences at one node, then at the next. */
uint table_word(__global const char *biased_scores, uint k)
{
    const uint node = k / (N_PAIRS * HALF) * STRIP_WIDTH + k % HALF * 2, pair = k / HALF % N_PAIRS;
    const uint x = pair / PAIR_LETTERS, y = pair == N_PAIRS - 1 ? END_LETTER : pair % PAIR_LETTERS;
    uint word = 0;
    for (uint r = 0; r < 2; r++) {
        __global const char *scores = biased_scores + (node + r) * PAIR_LETTERS;
        word |= ((uint)(uchar)scores[x] | (uint)(uchar)SECOND_BIASED(scores[y]) << 8) << (16 * r);
    }
    return word;
}

/* The first of the pairs that the work-group takes next. */
uint next_pairs(__global int *next, __local uint *taken, uint item)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) *taken = (uint)atomic_inc(next) * GROUP;
    barrier(CLK_LOCAL_MEM_FENCE);
    return *taken;
}

void load_strip(__local uint4 *local_table, __global const uint *table, uint strip, uint item)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = item; k < N_PAIRS * HALF; k += GROUP)
        ((__local uint *)local_table)[k / HALF * STRIDE * 4 + k % HALF] = table[strip * N_PAIRS * HALF + k];
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The biased scores of a pair of letters at all nodes of the strip. */
void read_words(uint words[HALF_FOURS * 4], __local const uint4 *scores)
{
#pragma unroll
    for (int k = 0; k < HALF_FOURS; k++) {
        const uint4 four = scores[k];
        words[4 * k] = four.x, words[4 * k + 1] = four.y, words[4 * k + 2] = four.z, words[4 * k + 3] = four.w;
    }
}
