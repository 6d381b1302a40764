/* Which domains a region holds, by the segments of its samples (clalign/reference/clustering.py).

   Segments are columns of `most` numbers, a multiple of 8, one behind the other. Many are equal, so what they are
   linked by is held once for each kind of segment: the columns from KIND_FIRST on. */
#include "common/vectors.h"

enum { SAMPLE, FIRST, LAST, NODE_FIRST, NODE_LAST, CLUSTER, KIND_FIRST, KIND_LAST, KIND_NODE_FIRST, KIND_NODE_LAST,
       KIND_CLUSTER, QUEUE, N_COLUMNS };

#define FARTHEST_DIAGONAL 4
#define MIN_SAMPLES 50
#define IS_MOST(part, whole) (5 * (part) >= 4 * (whole)) /* four fifths */
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define DISTANCE(a, b) ((a) > (b) ? (a) - (b) : (b) - (a))

/* HMMER's measure leaves segments of few nodes apart even from their like. */
#define ALONE (-2)

typedef union { int8 v; ulong part[4]; int lane[8]; } eight_t;

CALL int any_of_eight(eight_t e)
{
    return (e.part[0] | e.part[1] | e.part[2] | e.part[3]) != 0;
}

/* Which of eight kinds are linked to one. */
CALL int8 linked_to(__global const int *columns, int most, int one, int eight)
{
    const int first = columns[KIND_FIRST * most + one], last = columns[KIND_LAST * most + one];
    const int node_first = columns[KIND_NODE_FIRST * most + one], node_last = columns[KIND_NODE_LAST * most + one];
    const int8 f = vload8(0, columns + KIND_FIRST * most + eight), l = vload8(0, columns + KIND_LAST * most + eight);
    const int8 nf = vload8(0, columns + KIND_NODE_FIRST * most + eight);
    const int8 nl = vload8(0, columns + KIND_NODE_LAST * most + eight);
    const int8 begins = DISTANCE(f - nf, (int8)(first - node_first));
    const int8 ends = DISTANCE(l - nl, (int8)(last - node_last));
    const int8 residues = SMALLER(l, (int8)(last)) - LARGER(f, (int8)(first));
    const int8 nodes = SMALLER(nl, (int8)(node_last)) - LARGER(nf, (int8)(node_first)) - 1; /* one less, as in HMMER */
    return IS_MOST(residues, SMALLER(l - f, (int8)(last - first)))
         & IS_MOST(nodes, SMALLER(nl - nf, (int8)(node_last - node_first)))
         & ((begins <= FARTHEST_DIAGONAL) | (ends <= FARTHEST_DIAGONAL));
}

/* Distinguish the kinds of n segments, and write the kind of each where its cluster will be; returns how many there
   are. */
CALL int find_kinds(__global int *columns, int most, int n)
{
    int n_kinds = 0;
    for (int s = 0; s < n; s++) {
        const int first = columns[FIRST * most + s], last = columns[LAST * most + s];
        const int node_first = columns[NODE_FIRST * most + s], node_last = columns[NODE_LAST * most + s];
        int kind = n_kinds;
        for (int eight = 0; eight < n_kinds && kind == n_kinds; eight += 8) {
            eight_t same;
            same.v = (vload8(0, columns + KIND_FIRST * most + eight) == first)
                   & (vload8(0, columns + KIND_LAST * most + eight) == last)
                   & (vload8(0, columns + KIND_NODE_FIRST * most + eight) == node_first)
                   & (vload8(0, columns + KIND_NODE_LAST * most + eight) == node_last);
            if (!any_of_eight(same)) continue;
            for (int k = 0; k < 8 && eight + k < n_kinds; k++) kind = same.lane[k] ? eight + k : kind;
        }
        columns[CLUSTER * most + s] = kind;
        if (kind < n_kinds) continue;
        columns[KIND_FIRST * most + kind] = first;
        columns[KIND_LAST * most + kind] = last;
        columns[KIND_NODE_FIRST * most + kind] = node_first;
        columns[KIND_NODE_LAST * most + kind] = node_last;
        n_kinds++;
    }
    return n_kinds;
}

/* Give each of n segments the number of its cluster; returns how many there are. */
CALL int find_clusters(__global int *columns, int most, int n)
{
    __global int *cluster = columns + KIND_CLUSTER * most, *queue = columns + QUEUE * most;
    const int n_kinds = find_kinds(columns, most, n);
    int n_clusters = 0;
    for (int kind = 0; kind < n_kinds; kind++) {
        const int width = columns[KIND_NODE_LAST * most + kind] - columns[KIND_NODE_FIRST * most + kind];
        cluster[kind] = IS_MOST(width - 1, width) ? -1 : ALONE;
    }
    for (int start = 0; start < n_kinds; start++) {
        if (cluster[start] != -1) continue;
        int head = 0, tail = 1;
        cluster[start] = n_clusters;
        queue[0] = start;
        while (head < tail) {
            const int one = queue[head++];
            for (int eight = 0; eight < n_kinds; eight += 8) {
                eight_t joins;
                joins.v = linked_to(columns, most, one, eight) & (vload8(0, cluster + eight) < 0);
                if (!any_of_eight(joins)) continue;
                for (int k = 0; k < 8 && eight + k < n_kinds; k++)
                    if (joins.lane[k]) {
                        cluster[eight + k] = n_clusters;
                        queue[tail++] = eight + k;
                    }
            }
        }
        n_clusters++;
    }
    for (int s = 0; s < n; s++) columns[CLUSTER * most + s] = cluster[columns[CLUSTER * most + s]];
    return n_clusters;
}

/* The first (or, counting from `limit` down, the last) end of a cluster that occurs often enough, or the most
   frequent. */
CALL int outermost(__global const int *ends, __global const int *cluster, int n, int which, int enough, int from_top,
                   __global int *counts, int limit)
{
    int found = -1, most = 0, frequent = 0;
    for (int end = 0; end <= limit; end++) counts[end] = 0;
    for (int s = 0; s < n; s++)
        if (cluster[s] == which) counts[ends[s]]++;
    for (int end = 0; end <= limit; end++) {
        if (counts[end] >= enough && (from_top || found < 0)) found = end;
        if (counts[end] > most) {
            most = counts[end];
            frequent = end;
        }
    }
    return found < 0 ? frequent : found;
}

/* Write the envelopes (first residue, one past the last, samples) that n segments show, in their order; returns how
   many. `counts` is room for as many numbers as there are residues or nodes, and one. */
CALL int find_envelopes(__global int *columns, int most, int n, __global int *counts, int length, int n_nodes,
                        __global int *envelopes)
{
    __global const int *cluster = columns + CLUSTER * most, *sample = columns + SAMPLE * most;
    const int n_clusters = find_clusters(columns, most, n);
    int n_found = 0;
    for (int which = 0; which < n_clusters; which++) {
        int samples = 0, latest = -1;
        for (int s = 0; s < n; s++) {
            samples += cluster[s] == which && sample[s] != latest;
            latest = cluster[s] == which ? sample[s] : latest;
        }
        if (samples < MIN_SAMPLES) continue;
        const int enough = (samples + 49) / 50;
        const int first = outermost(columns + FIRST * most, cluster, n, which, enough, 0, counts, length);
        const int last = outermost(columns + LAST * most, cluster, n, which, enough, 1, counts, length);
        const int node_first = outermost(columns + NODE_FIRST * most, cluster, n, which, enough, 0, counts, n_nodes);
        const int node_last = outermost(columns + NODE_LAST * most, cluster, n, which, enough, 1, counts, n_nodes);
        if (first >= last || node_first >= node_last) continue;
        int at = n_found++;
        for (; at > 0; at--) {
            __global int *earlier = envelopes + 3 * at - 3;
            if (earlier[0] < first || (earlier[0] == first && earlier[1] <= last)) break;
            for (int c = 0; c < 3; c++) earlier[3 + c] = earlier[c];
        }
        envelopes[3 * at] = first;
        envelopes[3 * at + 1] = last;
        envelopes[3 * at + 2] = samples;
    }
    return n_found;
}

/* Leave out the envelopes that a better one covers; returns how many are left, or -1 if that depends on the order in
   which HMMER finds clusters, as the reference does. */
CALL int drop_dominated(__global int *envelopes, int n)
{
    int n_left = 0;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            __global int *one = envelopes + 3 * a, *other = envelopes + 3 * b;
            const int overlap = SMALLER(one[1], other[1]) - LARGER(one[0], other[0]);
            const int share = (int)abs(one[2]), other_share = (int)abs(other[2]);
            if (overlap == 0) break;
            if (!IS_MOST(overlap, SMALLER(one[1] - one[0], other[1] - other[0]))) continue;
            if (share == other_share && one[0] == other[0] && one[1] != other[1]) return -1;
            __global int *dropped = share > other_share ? other : one;
            dropped[2] = -(int)abs(dropped[2]);
        }
    for (int a = 0; a < n; a++)
        if (envelopes[3 * a + 2] > 0) {
            for (int c = 0; c < 3; c++) envelopes[3 * n_left + c] = envelopes[3 * a + c];
            n_left++;
        }
    return n_left;
}
