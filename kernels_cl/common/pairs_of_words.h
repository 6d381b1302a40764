/* A strip of NODES columns of HMMER3's Viterbi filter with B constant, for two sequences at once: each score
   is a pair of 16-bit numbers (common/pairs.h), one of each sequence, and says how much more it is than B.

   For node k the strip keeps, after the last residue
     x[k]   the best that M of node k + 1 can come from, B included
     w[k]   the best that I can come from: I without what the step from M to I costs
   and D is kept without what the step from M to D costs that leads into its node.

   Nothing saturates and nothing wraps around: M is kept from falling below the lowest step from B to M, and
   steps cost at most so much that this, too, is no more than what B gives. That is exact as long as no M is
   more than `most` above B (clalign/stages/hmmer3/viterbi_filter_tables.py); what is beyond is for another kernel.

   Tables
     steps      int4[NODES][2]   to match from match, insert, delete; begin of the next node;
                                 insert to insert, delete to delete, -, -; each score twice in a word

   Macros: NODES   columns a strip */

#include "common/pairs.h"

#ifndef NODES
#define NODES 4
#endif

#define EIGHTS ((NODES + 7) / 8)

typedef struct {
    pair_t to_match[NODES], from_insert[NODES], from_delete[NODES], begin[NODES], stay[NODES], on[NODES];
    pair_t x[NODES], w[NODES];
    pair_t entering; /* x at the left edge, after the last residue */
    pair_t best;     /* the highest M */
    pair_t least;    /* M is at least this */
} strip_t;

void load_steps(strip_t *s, __global const int4 *steps)
{
#pragma unroll
    for (int k = 0; k < NODES; k++) {
        const int4 into = steps[2 * k], other = steps[2 * k + 1];
        s->to_match[k] = into.x;
        s->from_insert[k] = into.y;
        s->from_delete[k] = into.z;
        s->begin[k] = into.w;
        s->stay[k] = other.x;
        s->on[k] = other.y;
    }
}

void open_strip(strip_t *s, pair_t entering)
{
    s->entering = entering;
    s->best = s->least;
#pragma unroll
    for (int k = 0; k < NODES; k++) {
        s->x[k] = s->begin[k];
        s->w[k] = s->least;
    }
}

/* The lower, the higher halves of two words. */
#if COMPUTE_CAPABILITY >= 90
#define LOW_HALVES(a, b) halves_of(a, b, 0x5410)
#define HIGH_HALVES(a, b) halves_of(a, b, 0x7632)

pair_t halves_of(uint a, uint b, uint chosen)
{
    pair_t r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(chosen));
    return r;
}
#else
#define LOW_HALVES(a, b) (((uint)(a) & 0xffffu) | (uint)(b) << 16)
#define HIGH_HALVES(a, b) ((uint)(a) >> 16 | ((uint)(b) & 0xffff0000u))
#endif

/* One residue of both sequences, whose match scores are in `first` and `second`, eight nodes in an int4;
   `left` holds x and D at the left edge after it, and so does what is returned at the right. */
__attribute__((always_inline))
uint2 next_row(strip_t *s, EMISSIONS const int4 *first, EMISSIONS const int4 *second, uint2 left)
{
    pair_t entering = s->entering, d = left.y;
    s->entering = left.x;
#pragma unroll
    for (int eight = 0; eight < EIGHTS; eight++) {
        const int4 a = first[eight * LANES], b = second[eight * LANES];
        const int of_a[4] = {a.x, a.y, a.z, a.w}, of_b[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int u = 0; u < 8; u++) {
            const int k = eight * 8 + u;
            if (k >= NODES) break;
            const pair_t emission = u % 2 ? HIGH_HALVES(of_a[u / 2], of_b[u / 2]) : LOW_HALVES(of_a[u / 2], of_b[u / 2]);
            const pair_t m = ADD_AT_LEAST(entering, emission, s->least), i = s->w[k];
            pair_t x = ADD_AT_LEAST(m, s->to_match[k], s->begin[k]);
            x = ADD_AT_LEAST(i, s->from_insert[k], x);
            entering = s->x[k];
            s->x[k] = ADD_AT_LEAST(d, s->from_delete[k], x);
            s->w[k] = ADD_AT_LEAST(i, s->stay[k], m);
            d = ADD_AT_LEAST(d, s->on[k], m);
            s->best = HIGHER_PAIR(s->best, m);
        }
    }
    return (uint2)(s->x[NODES - 1], d);
}
