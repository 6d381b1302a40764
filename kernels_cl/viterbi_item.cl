/* Plan7 Viterbi, HMMER2's integer scores with B held constant: one work-item a sequence, for GPUs.

   As long as J plays no part, nothing but B leads back from the end of the model to its begin, and B
   stays what it was. So the model can be cut into strips of NODES columns: a work-item holds a strip
   in registers and takes its sequence through it, then through the next one; what crosses from one to
   the other goes through memory. `viterbi_score` returns the best way out of the model; where that is
   so good that J could have mattered, the caller scores the sequence with viterbi_lanes.cl.

   Rows (common/strips.h) are unrolled ROWS_AT_ONCE times: their chains of deletes overlap.

   Buffers
     words        uint[n_words]                residues, four a word, the first lowest; the words of 32
                                               sequences are interleaved (`interleave` makes them)
     bases        uint[ceil(n / 32)]           where each 32 sequences begin in them
     lengths      int[n]                       falling
     steps        int4[n_strips * NODES][2]    see common/strips.h
     emissions    int[n_strips][N_CODES][NODES]
     edges        int2[n_groups][depth][GROUP] scratch: x and delete at the right edge of the last strip
     next         int[1]                       in: 0; the next sequences to be taken, by the group
     best         int[n]                       out

   Macros
     NODES        columns a strip
     ONE_STRIP    1 if that is the whole model: then nothing touches `edges`
     GROUP        work-items a work-group
     STRIDE       16-byte units from residue to residue in local memory; odd, or banks collide
     SABOTAGE     1 plants a fault, for the test of the tests

   Geometry: any number of groups; depth at least the greatest length + ROWS_AT_ONCE + 1.
   Local memory: N_CODES * STRIDE * 16 + 4 bytes. */

#ifndef NODES
#define NODES 12
#endif
#ifndef ONE_STRIP
#define ONE_STRIP 0
#endif
#ifndef GROUP
#define GROUP 64
#endif
#ifndef STRIDE
#define STRIDE (((NODES + 3) / 4) | 1)
#endif

#include "common/strips.h"

#define ROWS_AT_ONCE 4

/* Lay the sequences out for coalesced reading: a work-item copies one of them. */
__kernel void interleave(__global const uchar *codes, __global const int *offsets, __global const int *rows,
                         const uint n, __global const uint *bases, __global uint *words)
{
    const uint number = get_global_id(0);
    if (number >= n) return;
    const int row = rows[number], length = offsets[row + 1] - offsets[row];
    __global const uchar *code = codes + offsets[row];
    __global uint *word = words + bases[number / 32] + number % 32;
    for (int i = 0; i < length; i += 4, word += 32) {
        uint four = code[i];
        for (int k = 1; k < 4 && i + k < length; k++) four |= (uint)code[i + k] << 8 * k;
        *word = four;
    }
}

/* Where a strip reads its left edge and writes its right one. */
typedef struct {
    __global const int2 *from;
    __global int2 *to;
    uint step; /* 0 where the left edge is that of the model: one constant */
} strip_edge_t;

void take_sequence(strip_t *s, __local const int4 *table, __global const uint *word,
                   int length, strip_edge_t edge, int2 outside)
{
    int2 now[ROWS_AT_ONCE], ahead[ROWS_AT_ONCE];
    int i = 0;
    uint four = length > 0 ? *word : 0;
#pragma unroll
    for (int r = 0; r < ROWS_AT_ONCE; r++) ahead[r] = ONE_STRIP ? outside : edge.from[r * edge.step];
#pragma unroll 1
    for (; i + ROWS_AT_ONCE <= length; i += ROWS_AT_ONCE) {
        const uint codes = four;
        if (i + ROWS_AT_ONCE < length) word += 32;
        four = *word;
        edge.from += ROWS_AT_ONCE * edge.step;
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; r++) {
            now[r] = ahead[r];
            if (!ONE_STRIP) ahead[r] = edge.from[r * edge.step];
        }
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; r++) {
            const int2 right = next_strip_row(s, table + (codes >> 8 * r & 31) * STRIDE, now[r]);
            if (!ONE_STRIP) edge.to[r * GROUP] = right;
        }
        edge.to += ROWS_AT_ONCE * GROUP;
    }
#pragma unroll 1
    for (; i < length; i++, four >>= 8, edge.to += GROUP) {
        const int2 right = next_strip_row(s, table + (four & 31) * STRIDE, ahead[0]);
        if (!ONE_STRIP) *edge.to = right;
#pragma unroll
        for (int r = 1; r < ROWS_AT_ONCE; r++) ahead[r - 1] = ahead[r];
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void viterbi_score(__global const uint *words, __global const uint *bases, __global const int *lengths, const uint n,
                   __global const int4 *steps, __global const int *emissions, const uint n_strips, const int begin,
                   __global int2 *edges, const uint depth, __global int *next, __global int *best)
{
    __local int4 table[N_CODES * STRIDE];
    __local uint taken;
    const uint item = get_local_id(0);
    const int2 outside = (int2)(begin, 2 * FAR_BELOW);
    /* The last row of the work-item's edge is the left edge of the model. */
    __global int2 *mine = edges + (size_t)get_group_id(0) * depth * GROUP + item;
    if (!ONE_STRIP) mine[(size_t)(depth - 1) * GROUP] = outside;
    for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) taken = (uint)atomic_inc(next) * GROUP;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (taken >= n) break;
        const uint number = taken + item;
        const int length = number < n ? lengths[number] : 0;
        __global const uint *word = words + bases[(number < n ? number : 0) / 32] + number % 32;
        strip_t s;
        s.best = 2 * FAR_BELOW;
        for (uint strip = 0; strip < n_strips; strip++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = item; k < N_CODES * NODES; k += GROUP)
                ((__local int *)table)[k / NODES * STRIDE * 4 + k % NODES] = emissions[strip * N_CODES * NODES + k];
            barrier(CLK_LOCAL_MEM_FENCE);
            const strip_edge_t edge = {strip > 0 ? mine : mine + (size_t)(depth - 1) * GROUP, mine,
                                       strip > 0 ? GROUP : 0};
            open_strip(&s, steps + strip * NODES * 2, strip > 0 ? steps[(strip * NODES - 1) * 2].w : begin);
            take_sequence(&s, table, word, length, edge, outside);
        }
        if (number < n) best[number] = s.best;
    }
}
