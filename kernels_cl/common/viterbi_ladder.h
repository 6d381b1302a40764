/* Where the ladder's kernel keeps its data: every choice of memory is made here, so that the recurrence
   itself is written once, over the accessors below.

   Macros (0 is the basic choice of each)
     SEQUENCES    0 one after the other, 1 residue by residue (interleaved), 2 interleaved words of 4 residues
     ROWS         0 global, one block a work-item; 1 global, interleaved over the work-items; 2 private
     TRANSITIONS  0 global, 1 constant, 2 local (one copy a work-group)
     SPECIALS     0 global, 1 local (one copy a warp), 2 global, one copy a work-item, interleaved, 3 constant
     EMISSIONS    0 global [node][symbol], 1 global [symbol][node], 2 local [symbol][node]
     NODES        nodes of the model: the size of private rows and of local tables
     SYMBOLS      different letters in the sequences
     NODE_STRIDE  nodes a symbol in a transposed table of emissions, padded or not
     GROUP        work-items a work-group
     SCHEDULING   0 takes one node after the other, in the textbook's order, with one variable: each value is fetched
                  where it is needed and stored where it belongs; 1 fetches for several nodes first, into variables of
                  their own, so that neighboring instructions do not wait for each other, only the deletes must follow
                  one another
     UNROLL       nodes a turn of the inner loop: 1, 2, 4, 8 or 16
     SABOTAGE     1: from match to match at the cost of from insert to match */

#include "common/plan7.h"

#ifndef SEQUENCES
#define SEQUENCES 0
#endif
#ifndef ROWS
#define ROWS 0
#endif
#ifndef TRANSITIONS
#define TRANSITIONS 0
#endif
#ifndef SPECIALS
#define SPECIALS 0
#endif
#ifndef EMISSIONS
#define EMISSIONS 0
#endif
#ifndef NODES
#define NODES 270
#endif
#ifndef SYMBOLS
#define SYMBOLS 20
#endif
#ifndef NODE_STRIDE
#define NODE_STRIDE NODES
#endif
#ifndef GROUP
#define GROUP 256
#endif

#ifndef SCHEDULING
#define SCHEDULING 0
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef SABOTAGE
#define SABOTAGE 0
#endif

#define WARP 32
#define N_WARPS ((GROUP + WARP - 1) / WARP)

#if SEQUENCES == 2
#define RESIDUES uint
#else
#define RESIDUES uchar
#endif

/* The state of a sequence: two rows (the one before and the one being filled) of M, I, D, and of B, C, J;
   E of an unfinished row. Nodes count from 1; column 0 is impossible. */
#define N_STATE_SLOTS (6 * (NODES + 1) + 7)
#define ROW_M(row, k) ((row) * (NODES + 1) + (k))
#define ROW_I(row, k) ((2 + (row)) * (NODES + 1) + (k))
#define ROW_D(row, k) ((4 + (row)) * (NODES + 1) + (k))
#define PLACE_B(row) (6 * (NODES + 1) + (row))
#define PLACE_C(row) (6 * (NODES + 1) + 2 + (row))
#define PLACE_J(row) (6 * (NODES + 1) + 4 + (row))
#define PLACE_E (6 * (NODES + 1) + 6)

#if ROWS == 2
#define STATE int
#else
#define STATE __global int
#endif
#if ROWS == 1
#define STATE_AT(w, slot) (w)->state[(slot) * (w)->stride]
#else
#define STATE_AT(w, slot) (w)->state[slot]
#endif

#if TRANSITIONS == 1
#define TRANSITIONS_GIVEN __constant
#else
#define TRANSITIONS_GIVEN __global
#endif
#if TRANSITIONS == 2
#define TRANSITIONS_FROM __local
#else
#define TRANSITIONS_FROM TRANSITIONS_GIVEN
#endif
#define TRANSITION_AT(w, k, which) (w)->transitions[(k) * N_TRANSITIONS + (which)]

#if SPECIALS == 3
#define SPECIALS_GIVEN __constant
#else
#define SPECIALS_GIVEN __global
#endif
#if SPECIALS == 1
#define SPECIALS_FROM __local
#else
#define SPECIALS_FROM SPECIALS_GIVEN
#endif
#if SPECIALS == 2
#define SPECIAL_AT(w, which) (w)->special[(which) * (w)->n]
#else
#define SPECIAL_AT(w, which) (w)->special[which]
#endif

#if EMISSIONS == 2
#define EMISSIONS_FROM __local
#else
#define EMISSIONS_FROM __global
#endif
#if EMISSIONS == 0
#define EMISSION_AT(table, symbol, k) (table)[((k) - 1) * SYMBOLS + (symbol)]
#else
#define EMISSION_AT(table, symbol, k) (table)[(symbol) * NODE_STRIDE + (k) - 1]
#endif

/* All that a work-item reads and writes. */
typedef struct {
    STATE *state;
    TRANSITIONS_FROM const int *transitions;
    SPECIALS_FROM const int *special;
    EMISSIONS_FROM const int *match, *insert;
    __global const RESIDUES *residues;
    __global const int *starts;
    uint item, n, stride;
} work_t;

int higher(int a, int b)
{
    return a > b ? a : b;
}

/* The word that holds residue i (from 0): four residues, or just the one. */
uint word_of(const work_t *w, int i)
{
#if SEQUENCES == 0
    return w->residues[w->starts[w->item] + i];
#elif SEQUENCES == 1
    return w->residues[w->starts[i] + w->item];
#else
    return w->residues[w->starts[i >> 2] + w->item];
#endif
}

/* The residue i, given the word that the residue before it was taken from. */
uint residue(const work_t *w, int i, int first, uint *word)
{
#if SEQUENCES == 2
    if (i == first || (i & 3) == 0) *word = word_of(w, i);
    return *word >> (8 * (i & 3)) & 255;
#else
    return word_of(w, i);
#endif
}

/* Row 0: nothing is possible but N and B. */
void open_state(const work_t *w)
{
    for (int k = 0; k <= NODES; k++)
        for (int row = 0; row < 2; row++)
            STATE_AT(w, ROW_M(row, k)) = STATE_AT(w, ROW_I(row, k)) = STATE_AT(w, ROW_D(row, k)) = IMPOSSIBLE;
    STATE_AT(w, PLACE_B(0)) = CLAMP(SPECIAL_AT(w, N_MOVE));
    STATE_AT(w, PLACE_C(0)) = STATE_AT(w, PLACE_J(0)) = IMPOSSIBLE;
}

/* The special states of a row, after all its nodes; N follows from the row's number. */
void close_row(const work_t *w, int i, int e)
{
    const int now = i & 1, before = 1 - now;
    const long loops = (long)i * SPECIAL_AT(w, N_LOOP);
    const int n = (int)CLAMP(loops);
    e = CLAMP(e);
    const int j = CLAMP(higher(STATE_AT(w, PLACE_J(before)) + SPECIAL_AT(w, J_LOOP), e + SPECIAL_AT(w, E_LOOP)));
    STATE_AT(w, PLACE_J(now)) = j;
    STATE_AT(w, PLACE_B(now)) = CLAMP(higher(n + SPECIAL_AT(w, N_MOVE), j + SPECIAL_AT(w, J_MOVE)));
    STATE_AT(w, PLACE_C(now)) = CLAMP(higher(STATE_AT(w, PLACE_C(before)) + SPECIAL_AT(w, C_LOOP),
                                             e + SPECIAL_AT(w, E_MOVE)));
}
