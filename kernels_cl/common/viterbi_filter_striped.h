/* One row of HMMER3's Viterbi filter with the model striped over explicit vectors of 16-bit scores, for CPUs.

   Node lane * vectors + q sits in lane `lane` of vector q, so the left neighbor of a whole vector is the
   vector before it, and only the last one must be shifted by a lane. Kept from row to row, for node k
     x   the best that M of node k + 1 can come from but B
     w   the best that I can come from: I without what the step from M to I costs
   Within a row d is what a delete gives to x: D with its step to the next match. It runs down the vectors
   once; what leaves the end of a lane enters the next one only if it may matter: M of the next row can
   come from B, and B has to be beaten. `reach` says by how much it can gain at most.

   So six transitions a node are enough. With PLAIN 1 w and d are I and D themselves and there are eight: for
   models with impossible transitions, whose costs cannot be moved from one step to another. All sums saturate,
   as the reference's do. Sums in another order than there may differ, but only where they are less than
   what B gives to M; clalign/stages/hmmer3/viterbi_filter_tables.py says when that holds.

   Tables
     transitions  short[vectors][N_WORD_TRANSITIONS][LANES]   begin, match to match, insert to match, into d from match,
                                                 on to the next d, insert to insert; if PLAIN, delete to
                                                 match and match to insert
     reach      short[LANES]                     what d can gain at most that leaves a lane; never in the last
     emissions  short[N_CODES][vectors][LANES]

   Macros
     LANES      16 or 32: words in a vector
     VECTORS    vectors that there is room for
     FIXED      1: a row has just as many, and all transitions of a row are written out; for short rows
     SEQUENCES  sequences worked on at once, which share each load of a step
     PLAIN      see above

   Only operators and ?: are used on vectors: some CPU drivers have wrong or slow built-ins for them. */

#include "common/vectors.h"
#include "common/word_scores.h"

#ifndef LANES
#define LANES 16
#endif
#ifndef VECTORS
#define VECTORS 16
#endif
#ifndef FIXED
#define FIXED 0
#endif
#ifndef SEQUENCES
#define SEQUENCES 2
#endif
#ifndef PLAIN
#define PLAIN 0
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

typedef short words __attribute__((ext_vector_type(LANES)));
typedef int wide_words __attribute__((ext_vector_type(LANES)));

#define IN_ROW(vectors) (FIXED ? VECTORS : (vectors)) /* loops are written out only if they name their end so */
#define NOTHING ((words)(LOWEST_WORD))

/* A saturated sum; whether any lane of a mask is set. */
#if LANES == 16 && defined(__AVX2__) && __has_builtin(__builtin_ia32_paddsw256)
typedef long quads __attribute__((vector_size(32)));
#define WORD_SUM(a, b) __builtin_ia32_paddsw256(a, b)
#define ANY(mask) (!__builtin_ia32_ptestz256((quads)(mask), (quads)(mask)))
#else
words saturated(wide_words sum)
{
    sum = LARGER(sum, (wide_words)(LOWEST_WORD));
    return __builtin_convertvector(sum < MAX_WORD ? sum : (wide_words)(MAX_WORD), words);
}
int any_lane(words mask)
{
    const ulong *parts = (const ulong *)&mask;
    ulong any = parts[0];
#pragma unroll
    for (int part = 1; part < LANES / 4; part++) any |= parts[part];
    return any != 0;
}
#if __has_builtin(__builtin_elementwise_add_sat)
#define WORD_SUM(a, b) __builtin_elementwise_add_sat(a, b)
#else
#define WORD_SUM(a, b) saturated(__builtin_convertvector(a, wide_words) + __builtin_convertvector(b, wide_words))
#endif
#define ANY(mask) any_lane(mask)
#endif

/* Shifted by a lane. The last one of `reach` moves in, which is impossible: for a constant compilers take
   more instructions. */
#if LANES == 16
#define WORDS_UP(v, reach) __builtin_shufflevector(v, *(reach), 31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#else
#define WORDS_UP(v, reach)                                                                                           \
    __builtin_shufflevector(v, *(reach), 63, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, \
                            19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
#endif

#if PLAIN
#define N_WORD_TRANSITIONS 8
#define BY_DELETE(d, t) WORD_SUM(d, (t)[6])
#define OPENED(m, t) WORD_SUM(m, (t)[7])
#else
#define N_WORD_TRANSITIONS 6
#define BY_DELETE(d, t) (d)
#define OPENED(m, t) (m)
#endif

typedef struct {
    words x[VECTORS], w[VECTORS];
    words best;    /* the highest M of each lane until now */
    words leaving; /* d at the end of each lane in this row */
    int begin;     /* B */
} word_row_t;

int highest_word(words v)
{
#if LANES == 32
    const short16 of_16 = LARGER(v.lo, v.hi);
#else
    const short16 of_16 = v;
#endif
    const short8 of_8 = LARGER(of_16.lo, of_16.hi);
    const short4 of_4 = LARGER(of_8.lo, of_8.hi);
    const short2 of_2 = LARGER(of_4.lo, of_4.hi);
    return LARGER(of_2.x, of_2.y);
}

/* One residue of each sequence, but for deletes that go from lane to lane. */
__attribute__((always_inline))
void next_word_rows(word_row_t *rows, int vectors, __global const words *t, __global const words *reach,
               __global const words **emissions)
{
    words left[SEQUENCES], d[SEQUENCES], best[SEQUENCES], begin[SEQUENCES];
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        left[s] = WORDS_UP(rows[s].x[vectors - 1], reach);
        begin[s] = (words)((short)rows[s].begin);
        best[s] = rows[s].best;
        d[s] = NOTHING;
    }
#if FIXED
#pragma unroll
#endif
    for (int q = 0; q < IN_ROW(vectors); q++, t += N_WORD_TRANSITIONS) {
#pragma unroll
        for (int s = 0; s < SEQUENCES; s++) {
            word_row_t *row = rows + s;
            const words from = WORD_SUM(begin[s], t[0]), i = row->w[q];
            const words m = WORD_SUM(LARGER(left[s], from), emissions[s][q]);
            const words by_match = WORD_SUM(m, t[SABOTAGE ? 2 : 1]), by_insert = WORD_SUM(i, t[2]),
                by_delete = BY_DELETE(d[s], t);
            const words deleted = WORD_SUM(m, t[3]), on = WORD_SUM(d[s], t[4]);
            const words opened = OPENED(m, t), extended = WORD_SUM(i, t[5]);
            const words x = LARGER(by_match, by_insert);
            left[s] = row->x[q];
            d[s] = LARGER(deleted, on);
            best[s] = LARGER(best[s], m);
            row->x[q] = LARGER(x, by_delete);
            row->w[q] = LARGER(opened, extended);
        }
    }
#pragma unroll
    for (int s = 0; s < SEQUENCES; s++) {
        rows[s].best = best[s];
        rows[s].leaving = d[s];
    }
}

/* The lanes whose deletes may matter in the next lane. */
words reaching(const word_row_t *row, __global const words *reach)
{
    const words there = WORD_SUM(row->leaving, *reach);
    return there >= (words)((short)row->begin);
}

/* What deletes add to the lanes after those in which they began. */
void deletes_across_words(word_row_t *row, int vectors, __global const words *transitions, __global const words *reach)
{
    for (int lane = 1; lane < LANES; lane++) {
        __global const words *t = transitions;
        words d = WORDS_UP(row->leaving, reach);
#if FIXED
#pragma unroll
#endif
        for (int q = 0; q < IN_ROW(vectors); q++, t += N_WORD_TRANSITIONS) {
            const words by_delete = BY_DELETE(d, t);
            row->x[q] = LARGER(row->x[q], by_delete);
            d = WORD_SUM(d, t[4]);
        }
        row->leaving = d;
        const words go_on = reaching(row, reach);
        if (!ANY(go_on)) return;
    }
}
