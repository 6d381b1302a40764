/* A strip of NODES columns of HMMER3's Viterbi filter with B constant, for two sequences at once: each score
   is a pair of 16-bit numbers (common/pairs.h), one of each sequence, and says how much more it is than B.

   For node k the strip keeps, after the last residue
     x[k]   the best that M of node k + 1 can come from, B included
     w[k]   the best that I can come from: I without what the step from M to I costs
   and D is kept without what the step from M to D costs that leads into its node.

   Nothing saturates and nothing wraps around: M is kept from falling below the lowest step from B to M, and
   steps cost at most so much that this, too, is no more than what B gives. That is exact as long as no M is
   more than `most` above B (clalign/stages/hmmer3/viterbi_filter_pairs.py); what is beyond is for another kernel.

   Tables
     transitions  int4[NODES][2]   to match from match, insert, delete; begin of the next node;
                                   insert to insert, delete to delete, -, -; each score twice in a word

   Two pieces of sequences are taken by a group of lanes at once, each lane BLOCK residues behind its left neighbor.

   Macros: NODES         columns a strip
           BLOCK         residues that are taken at once
           LONGEST       residues that this form takes
           EMISSIONS_IN  address space of the match scores */

#include "common/codes.h"
#include "common/lane_nodes.h"
#include "common/pairs.h"
#include "common/word_scores.h"

#ifndef BLOCK
#define BLOCK 1
#endif
#ifndef LONGEST
#define LONGEST 100000
#endif
#ifndef EMISSIONS_IN
#define EMISSIONS_IN __local
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define NODE_EIGHTS ((NODES + 7) / 8)

typedef struct {
    pair_t to_match[NODES], from_insert[NODES], from_delete[NODES], begin[NODES], stay[NODES], on[NODES];
    pair_t x[NODES], w[NODES];
    pair_t entering; /* x at the left edge, after the last residue */
    pair_t best;     /* the highest M */
    pair_t least;    /* M is at least this */
} word_strip_t;

void load_transitions(word_strip_t *s, __global const int4 *transitions)
{
#pragma unroll
    for (int k = 0; k < NODES; k++) {
        const int4 into = transitions[2 * k], other = transitions[2 * k + 1];
        s->to_match[k] = into.x;
        s->from_insert[k] = into.y;
        s->from_delete[k] = into.z;
        s->begin[k] = into.w;
        s->stay[k] = other.x;
        s->on[k] = other.y;
    }
}

void open_word_strip(word_strip_t *s, pair_t entering)
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
uint2 next_word_row(word_strip_t *s, EMISSIONS_IN const int4 *first, EMISSIONS_IN const int4 *second, uint2 left)
{
    pair_t entering = s->entering, d = left.y;
    s->entering = left.x;
#pragma unroll
    for (int eight = 0; eight < NODE_EIGHTS; eight++) {
        const int4 a = first[eight * LANES], b = second[eight * LANES];
        const int of_a[4] = {a.x, a.y, a.z, a.w}, of_b[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int u = 0; u < 8; u++) {
            const int k = eight * 8 + u;
            if (k >= NODES) break;
            const pair_t emission = u % 2 ? HIGH_HALVES(of_a[u / 2], of_b[u / 2])
                                          : LOW_HALVES(of_a[u / 2], of_b[u / 2]);
            const pair_t m = ADD_AT_LEAST(entering, emission, s->least), i = s->w[k];
            pair_t x = ADD_AT_LEAST(m, SABOTAGE ? s->from_insert[k] : s->to_match[k], s->begin[k]);
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

/* A piece of a sequence that a group of lanes takes.

   `pieces` has for each: the place of its sequence in the list `rows`, its first residue, its residues. Once it
   was scored, the latter two are of the stretch of it to which J may matter (no residues if there is none).
   Beyond the ends of a piece there is NO_CODE, which matches nowhere. */

typedef struct {
    __global const uchar *code;
    int length; /* 0 if there is none */
    int number; /* -1 if there is none */
    int place, from;
    int most;        /* the highest M above B for which J plays no part */
    int first, last; /* rows of this lane between which M was higher */
} piece_t;

/* Every sequence has a piece at its place, and `n_more` of them are in others after these, which are taken first. */
piece_t piece_at(uint turn, uint n, uint n_more, __global const int4 *pieces, __global const uchar *codes,
                 __global const int *offsets, __global const short *moves, __global const int *rows)
{
    piece_t s = {codes, 0, -1, 0, 0, 0, LONGEST, 0};
    if (turn < n + n_more) {
        s.number = (int)(turn < n_more ? n + turn : turn - n_more);
        const int4 piece = pieces[s.number];
        const int row = rows[piece.x];
        s.place = piece.x;
        s.from = piece.y;
        s.length = piece.z;
        s.code = codes + offsets[row] + piece.y;
        s.most = SINGLE_MOST - WORD_BASE - moves[row];
    }
    return s;
}

uint piece_code_at(const piece_t *s, int i)
{
    return (uint)i < (uint)s->length ? s->code[i] : NO_CODE;
}

/* Take note of the highest M of some rows, `end` excluded. */
void note_rows(piece_t *s, int highest, int begin, int end)
{
    if (highest > s->most) {
        s->first = min(s->first, begin);
        s->last = end;
    }
}

/* What all lanes know of a piece, in each of them. */
void gather_notes(piece_t *s, uint lane, __local int *scratch)
{
    s->first = -lane_max(-s->first, lane, scratch);
    s->last = lane_max(s->last, lane, scratch);
}

/* Write the stretch to which J may matter: from where an alignment may begin, which has up to `reach` residues and
   reaches an M so high, to the last such M; to the end if that is not for sure, since `best`, the highest of all, is
   beyond what is `trusted`. */
void put_stretch(const piece_t *s, int reach, int best, int trusted, __global int4 *pieces)
{
    const int from = max(s->first - reach, 0), to = best > trusted ? s->length : min(s->last, s->length);
    pieces[s->number] = s->last > 0 ? (int4)(s->place, s->from + from, to - from, 0) : (int4)(s->place, 0, 0, 0);
}

#define FOREVER 0x7fffffff

/* Two pieces, what is at the right edge of the lane, and the letters that come next. */
typedef struct {
    piece_t a, b;
    uint2 right[BLOCK];
    uint of_a[BLOCK], of_b[BLOCK];
    int i;    /* the lane's next residue */
    int todo; /* blocks */
} pair_of_pieces_t;

void open_pieces(pair_of_pieces_t *w, const word_strip_t *s, uint lane)
{
    const int longest = max(w->a.length, w->b.length);
    w->i = -(int)lane * BLOCK;
    w->todo = w->a.number < 0 ? FOREVER : longest > 0 ? (longest + BLOCK - 1) / BLOCK + LANES - 1 : 0;
#pragma unroll
    for (int r = 0; r < BLOCK; r++) {
        w->right[r] = (uint2)(s->x[NODES - 1], s->least);
        w->of_a[r] = piece_code_at(&w->a, w->i + r);
        w->of_b[r] = piece_code_at(&w->b, w->i + r);
    }
}

/* One block. */
__attribute__((always_inline))
void next_pieces(pair_of_pieces_t *w, word_strip_t *s, EMISSIONS_IN const int4 *emissions, pair_t begin, uint lane,
                __local int *scratch)
{
    uint2 left[BLOCK];
    EMISSIONS_IN const int4 *of_a[BLOCK], *of_b[BLOCK];
    w->i += BLOCK;
#pragma unroll
    for (int r = 0; r < BLOCK; r++) {
        of_a[r] = emissions + w->of_a[r] * NODE_EIGHTS * LANES;
        of_b[r] = emissions + w->of_b[r] * NODE_EIGHTS * LANES;
        w->of_a[r] = piece_code_at(&w->a, w->i + r);
        w->of_b[r] = piece_code_at(&w->b, w->i + r);
        left[r].x = shuffle_up(w->right[r].x, 1, begin, lane, scratch);
        left[r].y = shuffle_up(w->right[r].y, 1, s->least, lane, scratch);
    }
#pragma unroll
    for (int r = 0; r < BLOCK; r++) w->right[r] = next_word_row(s, of_a[r], of_b[r], left[r]);
}
