/* HMMER3's Viterbi filter of one sequence, NODES consecutive nodes in each lane, 32 bits. Few sequences are so scored,
   each for long: what the next residues need is loaded ahead.

   Tables
     transitions  int[N_LANE_TRANSITIONS][NODES][LANES]   begin, match to match, insert to match, match to delete,
                                                          delete to delete, insert to insert, delete to match, match to insert
     emissions  short[N_CODES][NODES][LANES]

   Macros: TRANSITIONS_IN   the memory that the transitions are in where a lane has too many nodes to hold them in
   registers */

#include "common/lane_nodes.h"
#include "common/word_scores.h"

#ifndef TRANSITIONS_IN
#define TRANSITIONS_IN __global
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define N_LANE_TRANSITIONS 8
#define NOWHERE (2 * LOWEST_WORD)
#define HELD (NODES <= 16)

#if HELD
typedef struct {
    int of[N_LANE_TRANSITIONS][NODES];
} held_transitions_t;
#define HELD_TRANSITION(t, column, k) (t)->of[column][k]
#else
typedef TRANSITIONS_IN const int held_transitions_t;
#define HELD_TRANSITION(t, column, k) (t)[((column) * NODES + (k)) * LANES]
#endif

/* What M of node k + 1 can come from but B, and I; match scores of the next residue; the highest M; D at the end. */
typedef struct {
    int x[NODES], i[NODES], emission[NODES];
    int best, leaving;
} word_lane_t;

void open_word_lane(word_lane_t *s)
{
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) s->x[k] = s->i[k] = NOWHERE;
}

void load_emissions(word_lane_t *s, __global const short *emission)
{
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) s->emission[k] = emission[k * LANES];
}

/* One residue, but for deletes that come from the lanes before; `ahead` are the match scores of the next one. */
void next_words(word_lane_t *s, const held_transitions_t *t, __global const short *ahead, int begin, int left)
{
    int emission[NODES], d = NOWHERE;
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) emission[k] = s->emission[k];
    load_emissions(s, ahead);
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) {
        const int m = max(left, begin + HELD_TRANSITION(t, 0, k)) + emission[k], i = s->i[k];
        s->best = max(s->best, m);
        left = s->x[k];
        s->x[k] = max(max(m + HELD_TRANSITION(t, SABOTAGE ? 2 : 1, k), i + HELD_TRANSITION(t, 2, k)),
                      d + HELD_TRANSITION(t, 6, k));
        s->i[k] = max(m + HELD_TRANSITION(t, 7, k), i + HELD_TRANSITION(t, 5, k));
        d = max(m + HELD_TRANSITION(t, 3, k), d + HELD_TRANSITION(t, 4, k));
    }
    s->leaving = d;
}

/* Deletes that come from the lane before. */
void deletes_from_left(word_lane_t *s, const held_transitions_t *t, int d)
{
#pragma unroll UNROLL_NODES
    for (int k = 0; k < NODES; k++) {
        s->x[k] = max(s->x[k], d + HELD_TRANSITION(t, 6, k));
        d += HELD_TRANSITION(t, 4, k);
    }
    s->leaving = d;
}

/* B; the highest M that leaves it as it is; the score from J on to B; how much more than D M can get from it. */
typedef struct {
    int begin, single_most, move, gain;
} around_t;

/* The residues from `from` on, `to` excluded. */
void go_through(word_lane_t *s, around_t *b, const held_transitions_t *t, __global const uchar *code, int from, int to,
                __global const short *emissions, uint lane, __local int *scratch)
{
    if (from >= to) return;
    load_emissions(s, emissions + (uint)code[from] * ROW);
    uint next = code[min(from + 1, to - 1)];
    for (int i = from; i < to && b->single_most < MAX_WORD; i++) {
        __global const short *ahead = emissions + next * ROW;
        next = code[min(i + 2, to - 1)];
        const int left = shuffle_up(s->x[NODES - 1], 1, NOWHERE, lane, scratch);
        next_words(s, t, ahead, b->begin, left);
        const int matters = s->best > b->single_most || s->leaving + b->gain > b->begin;
        int goes_on = lane_any(matters, lane, scratch);
        while (goes_on) {
            b->single_most = max(b->single_most, lane_max(s->best, lane, scratch));
            b->begin = begin_after(b->single_most, b->move);
            const int d = shuffle_up(s->leaving, 1, NOWHERE, lane, scratch);
            deletes_from_left(s, t, d);
            goes_on = lane_any(s->leaving + b->gain > b->begin, lane, scratch);
        }
    }
}
