/* A strip of NODES columns of Plan7 Viterbi with B constant and scores reweighted
   (clalign/stages/plan7/reweighting.py), held in registers.

   For node k the strip keeps
     x[k]   the best that M of node k + 1 can come from, its own begin included
     w[k]   the best that I of node k can come from, before its emission
   both after the last residue.

   Tables
     steps      int4[NODES][2]   to match from match, insert, delete, begin of the next node;
                                 insert to insert, match to delete, -, -
     emission   int4[NODE_FOURS]      of one residue: match in the low half of a word, insert in the high one

   Macros
     NODES            columns a strip
     EMISSIONS_IN        address space of the emissions
     EMISSION_STRIDE  int4s from one four of nodes to the next
     SABOTAGE         1: from match to match at the cost of from insert to match */

#include "common/codes.h"
#include "common/plan7.h"

#ifndef NODES
#define NODES 12
#endif

#ifndef EMISSIONS_IN
#define EMISSIONS_IN __local
#endif
#ifndef EMISSION_STRIDE
#define EMISSION_STRIDE 1
#endif

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define NODE_FOURS ((NODES + 3) / 4)

/* A half of a word, a signed 16-bit number, added to an int. NVIDIA's two-way dot product does it in one instruction,
   and not in the pipe that adds and compares. */
#ifndef COMPUTE_CAPABILITY
#define COMPUTE_CAPABILITY 0
#endif

#if COMPUTE_CAPABILITY >= 61

int dot_halves(int word, int chosen, int v)
{
    int r;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(chosen), "r"(v));
    return r;
}

#define ADD_LOW(word, v) dot_halves(word, 0x0001, v)
#define ADD_HIGH(word, v) dot_halves(word, 0x0100, v)

#else

#define ADD_LOW(word, v) ((int)(short)(word) + (v))
#define ADD_HIGH(word, v) (((word) >> 16) + (v))

#endif

typedef struct {
    int4 steps[2 * NODES];
    int x[NODES], w[NODES];
    int entering; /* x at the left edge, after the last residue */
    int best;     /* the best way out of the model */
} strip_t;

void open_strip(strip_t *s, __global const int4 *steps, int entering)
{
    s->entering = entering;
#pragma unroll
    for (int k = 0; k < NODES; k++) {
        s->steps[2 * k] = steps[2 * k];
        s->steps[2 * k + 1] = steps[2 * k + 1];
        s->x[k] = steps[2 * k].w;
        s->w[k] = 2 * FAR_BELOW;
    }
}

/* One residue; `left` holds x and D at the left edge after it, and so does what is returned at the right. */
int2 next_strip_row(strip_t *s, EMISSIONS_IN const int4 *emission, int2 left)
{
    int entering = s->entering, chain = left.y;
    s->entering = left.x;
#pragma unroll
    for (int four = 0; four < NODE_FOURS; four++) {
        const int4 e = emission[four * EMISSION_STRIDE];
        const int words[4] = {e.x, e.y, e.z, e.w};
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int k = four * 4 + u;
            if (k >= NODES) break;
            const int4 to_match = s->steps[2 * k];
            const int m = ADD_LOW(words[u], entering);
            const int i = ADD_HIGH(words[u], s->w[k]);
            int x = max(m + (SABOTAGE ? to_match.y : to_match.x), to_match.w);
            x = max(i + to_match.y, x);
            x = max(chain + to_match.z, x);
            s->best = max(s->best, m);
            s->w[k] = max(i + s->steps[2 * k + 1].x, m);
            chain = max(m + s->steps[2 * k + 1].y, chain);
            entering = s->x[k];
            s->x[k] = x;
        }
    }
    return (int2)(s->x[NODES - 1], chain);
}
