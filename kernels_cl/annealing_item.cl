/* Sequence annealing (clalign/reference/annealing.py): columns of residues are merged, the most certain ones first.

   One work-item does it all, merge after merge: `annealing_begin` gathers what may be merged, `annealing` takes so
   many of these, and is launched until nothing is left; `annealing_enlarge` makes more room for known edges.

   Buffers
     pairs, firsts, others, rows, entries, gaps   see common/sparse_posteriors.h
     sequences  int[n_pairs][2]           of each pair
     offsets    int[n_sequences]          where the residues of each sequence begin
     residues   int[n]                    the number of the column that each residue begins as
     members    member_t[n]              in: each residue and column by this number, see common/annealing_columns.h
     edges      candidate_t[n_entries]     two columns each, and how many residues they had when their weight was found
     heap       heap_entry_t[n_entries]   edges by weight
     known      known_edge_t[capacity]    in: 0; which edge is in the heap for two columns: a hash table
     scratch    int[3][n]
     state      int[N_STATE]              in: 0
     merges     int[n][2]                 out: of each merge the column that stays, and the one that is gone
     weights    float[n]                  out: what each was worth

   Scalars
     n_sequences, n_pairs, n
     least      what merges must be worth
     dynamic    whether weights are found again for columns that have grown
     capacity   of the hash table, a power of two
     budget     edges taken from the heap in one launch

   Macros
     SABOTAGE   1 plants a fault, for the test of the tests

   Geometry: one work-item. */

#include "common/annealing_columns.h"
#include "common/sparse_posteriors.h"

#ifndef SABOTAGE
#define SABOTAGE 0
#endif

enum { HEAP_SIZE, N_MERGES, N_KNOWN, STATUS, MARK, N_TAKEN, N_STATE };
enum { RUNNING, IS_DONE, IS_FULL };

#define INCONSISTENT (-1)
#define UNKNOWN (-2)

typedef struct { int source, target, size; } candidate_t;
typedef struct { float weight; int edge; } heap_entry_t;
typedef struct { int low, high, edge; } known_edge_t; /* columns counted from 1; 0 for none */

typedef struct {
    __global member_t *members;
    __global candidate_t *edges;
    __global heap_entry_t *heap;
    __global known_edge_t *known;
    __global int *state;
    int capacity;
} annealing_t;

void heap_rise(__global heap_entry_t *heap, int hole, heap_entry_t entry)
{
    while (hole > 0 && heap[(hole - 1) / 2].weight < entry.weight) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = entry;
}

/* The order of equal weights is that of the GNU C++ library. */
heap_entry_t heap_pop(__global heap_entry_t *heap, __global int *size)
{
    const int n = --*size;
    const heap_entry_t top = heap[0], last = heap[n];
    int hole = 0;
    while (2 * hole + 1 < n) {
        int child = 2 * hole + 2;
        if (child == n || heap[child].weight < heap[child - 1].weight) child--;
        heap[hole] = heap[child];
        hole = child;
    }
    if (n > 0) heap_rise(heap, hole, last);
    return top;
}

/* Where the edge of two columns is known, or would be. */
__global known_edge_t *known_place(__global known_edge_t *known, int capacity, int one, int other)
{
    const int low = min(one, other) + 1, high = max(one, other) + 1;
    uint place = (uint)low * 0x9E3779B1u ^ (uint)high * 0x85EBCA6Bu;
    for (place ^= place >> 15;; place++) {
        __global known_edge_t *found = known + (place & (uint)(capacity - 1));
        if (found->low == 0 || (found->low == low && found->high == high)) return found;
    }
}

int known_between(const annealing_t *t, int one, int other)
{
    const __global known_edge_t *found = known_place(t->known, t->capacity, one, other);
    return found->low == 0 ? UNKNOWN : found->edge;
}

void remember(const annealing_t *t, int one, int other, int edge)
{
    __global known_edge_t *found = known_place(t->known, t->capacity, one, other);
    t->state[N_KNOWN] += found->low == 0;
    found->low = min(one, other) + 1;
    found->high = max(one, other) + 1;
    found->edge = edge;
}

/* What the merge of two columns is worth. */
float merge_weight(const posteriors_t *p, __global const member_t *members, int one, int other, __global int *scratch)
{
    float matched = 0.0f, gapped = 0.0f, gap_a, gap_b;
    int n = 0;
    for (int v = members[other].first; v >= 0; v = members[v].next, n += 2) {
        scratch[n] = members[v].sequence;
        scratch[n + 1] = members[v].position;
    }
    for (int u = members[one].first; u >= 0; u = members[u].next) {
        const int i = members[u].sequence, a = members[u].position;
        for (int v = 0; v < n; v += 2) {
            const int j = scratch[v], pair = p->pairs[i * p->n_sequences + j];
            if (pair < 0) continue;
            matched += pair_posteriors(p, pair, i, j, a, scratch[v + 1], &gap_a, &gap_b);
            gapped += gap_a + (SABOTAGE ? 0.0f : gap_b);
        }
    }
    return exact_quotient(2.0f * matched, gapped);
}

__kernel void annealing_begin(__global const int *firsts, __global const int *others,
                              __global const posterior_row_t *rows, __global const posterior_entry_t *entries,
                              __global const float *gaps, __global const int *sequences,
                              __global const int *offsets, __global const int *residues, const int n_pairs,
                              const float least, __global candidate_t *edges, __global heap_entry_t *heap,
                              __global int *state)
{
    int n = 0;
    for (int pair = 0; pair < n_pairs; pair++) {
        const int x = offsets[sequences[2 * pair]], y = offsets[sequences[2 * pair + 1]];
        for (int row = firsts[pair]; row < firsts[pair + 1]; row++)
            for (int e = rows[row].start; e < rows[row + 1].start; e++) {
                const float gapped = rows[row].gap + gaps[others[pair] + entries[e].column];
                const heap_entry_t entry = {exact_quotient(2.0f * entries[e].probability, gapped), n};
                if (!(entry.weight >= least)) continue;
                const candidate_t edge = {residues[x + row - firsts[pair]], residues[y + entries[e].column], 2};
                edges[n] = edge;
                heap_rise(heap, n++, entry);
            }
    }
    state[HEAP_SIZE] = n;
}

__kernel void annealing_enlarge(__global const member_t *members, __global const known_edge_t *old,
                                const int old_capacity, __global known_edge_t *known, const int capacity,
                                __global int *state)
{
    state[N_KNOWN] = 0;
    for (int k = 0; k < old_capacity; k++) {
        const known_edge_t one = old[k];
        if (one.low == 0 || members[one.low - 1].merged != one.low - 1 || members[one.high - 1].merged != one.high - 1)
            continue;
        *known_place(known, capacity, one.low - 1, one.high - 1) = one;
        state[N_KNOWN]++;
    }
    state[STATUS] = RUNNING;
}

/* Look at the edge with the greatest weight; return whether others are to follow. */
int take_edge(const annealing_t *t, const posteriors_t *p, float least, int dynamic, int n, __global int *scratch,
              __global int *merges, __global float *weights)
{
    heap_entry_t entry = heap_pop(t->heap, t->state + HEAP_SIZE);
    __global candidate_t *edge = t->edges + entry.edge;
    const int source = edge->source = column_now(t->members, edge->source);
    const int target = edge->target = column_now(t->members, edge->target);
    if (source == target) return 1;
    const int other = known_between(t, source, target), size = t->members[source].size + t->members[target].size;
    if (other == INCONSISTENT) return 1;
    if (other >= 0 && other != entry.edge) {
        if (t->edges[other].size == size) return 1;
        remember(t, source, target, entry.edge);
    }
    if (dynamic && edge->size != size) {
        if (share_a_sequence(t->members, source, target)) {
            remember(t, source, target, INCONSISTENT);
            return 1;
        }
        entry.weight = merge_weight(p, t->members, source, target, scratch);
        edge->size = size;
        if (t->state[HEAP_SIZE] > 0 && entry.weight < t->heap[0].weight) {
            if (other == UNKNOWN) remember(t, source, target, entry.edge);
            heap_rise(t->heap, t->state[HEAP_SIZE]++, entry);
            return 1;
        }
    }
    if (entry.weight < least) return 0;
    __global int *merge = merges + 2 * t->state[N_MERGES];
    if (merge_columns(t->members, n, source, target, t->state + MARK, scratch, merge))
        weights[t->state[N_MERGES]++] = entry.weight;
    else
        remember(t, source, target, INCONSISTENT);
    return 1;
}

__kernel void annealing(const int n_sequences, __global const int *pairs, __global const int *firsts,
                        __global const int *others, __global const posterior_row_t *rows,
                        __global const posterior_entry_t *entries, __global const float *gaps,
                        __global member_t *members, const int n,
                        __global candidate_t *edges, __global heap_entry_t *heap, __global known_edge_t *known,
                        const int capacity, const float least, const int dynamic, const int budget,
                        __global int *scratch, __global int *state, __global int *merges, __global float *weights)
{
    const posteriors_t p = {n_sequences, pairs, firsts, others, rows, entries, gaps};
    const annealing_t t = {members, edges, heap, known, state, capacity};
    int status = RUNNING;
    for (int k = 0; k < budget && status == RUNNING; k++) {
        if (state[HEAP_SIZE] == 0) status = IS_DONE;
        else if (state[N_KNOWN] > capacity / 4 * 3) status = IS_FULL;
        else if (!take_edge(&t, &p, least, dynamic, n, scratch, merges, weights)) status = IS_DONE;
        else state[N_TAKEN]++;
    }
    state[STATUS] = status;
}
