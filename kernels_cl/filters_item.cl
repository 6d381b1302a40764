/* What passes a filter of HMMER3 goes on a list for the next one; the lists never leave the device.

   Scores are in nats. A target passes if its score lies at least so far above that of the null model, or
   of the bias filter; the limits are the least differences whose P-values do.

   Buffers, by sequence
     offsets     int[n + 1]     where each begins
     moves       uchar[n]       cost of leaving N, C and J in 8-bit units
     null        float[n]       score of the null model
     extremes    int[n]         best cell of SSV and 256
     unscored    int[n]         1 where SSV was not run
     msv, bias, viterbi, forward   float[n]  scores, the last three only of what passed MSV
   Lists: rows int[] and their count uint[1]; scores by the place in the list: levels uchar[], scores float[].
     nats        float[511]     score of a level, 255 less the move added
     found       uint4[]        out: row, bias, Viterbi and Forward score of what passed MSV

   Geometry: any; each kernel strides over its list. */

#include "common/msv.h"

#define MOST_ENTRY 127

#define EACH(p, n) for (uint p = get_global_id(0); p < (n); p += get_global_size(0))

void append(__global int *rows, __global uint *count, int row)
{
    rows[atomic_inc(count)] = row;
}

/* The level of J that the best cell of SSV means, or -1 if only MSV knows it. */
int level_of(int extreme, int move, int into, int bias)
{
    const int top = 255 - bias, enter = MSV_BASE - move - into;
    if (extreme >= top) return enter < 128 ? -1 : MSV_OVERFLOW;
    extreme += enter - 128;
    if (extreme >= top) return MSV_OVERFLOW;
    return extreme - MSV_E_MOVE > MSV_BASE ? -1 : extreme - MSV_E_MOVE;
}

float score_of(int level, int move, __constant const float *nats)
{
    return level == MSV_OVERFLOW ? INFINITY : nats[level - move + 255];
}

__kernel void after_ssv(__global const int *extremes, __global const int *unscored, __global const int *offsets,
                        __global const uchar *moves, __global const float *null, __constant const float *nats,
                        const uint n, const int into, const int bias, const float least, __global float *msv,
                        __global int *passed, __global uint *n_passed, __global int *open, __global uint *n_open)
{
    EACH(row, n) {
        msv[row] = NAN;
        if (offsets[row] == offsets[row + 1]) continue;
        const int move = moves[row];
        int level = -1;
        if (!unscored[row] && move + into + MSV_E_MOVE + bias < MOST_ENTRY)
            level = level_of(extremes[row], move, into, bias);
        if (level < 0) {
            append(open, n_open, row);
        } else {
            msv[row] = score_of(level, move, nats);
            if (msv[row] - null[row] >= least) append(passed, n_passed, row);
        }
    }
}

/* A target without feedback through J, which SSV would have decided, scores no less than SSV can. */
__kernel void after_msv(__global const int *open, __global const uint *n_open, __global const uchar *levels,
                        __global const uchar *moves, __global const float *null, __constant const float *nats,
                        const int into, const int bias, const float least, __global float *msv,
                        __global int *passed, __global uint *n_passed)
{
    EACH(p, *n_open) {
        const int row = open[p], move = moves[row];
        const int floor = MSV_BASE - move - into - MSV_E_MOVE;
        int level = levels[p];
        if (level < floor && move + into + MSV_E_MOVE + bias < MOST_ENTRY) level = floor;
        msv[row] = score_of(level, move, nats);
        if (msv[row] - null[row] >= least) append(passed, n_passed, row);
    }
}

__kernel void after_bias(__global const int *passed, __global const uint *n_passed, __global const float *scores,
                         const int is_used, __global const float *msv, __global const float *null,
                         const float least, const float sure, __global float *bias, __global float *viterbi,
                         __global float *forward, __global int *to_viterbi, __global uint *n_to_viterbi,
                         __global int *to_forward, __global uint *n_to_forward)
{
    EACH(p, *n_passed) {
        const int row = passed[p];
        bias[row] = is_used ? scores[p] : null[row];
        viterbi[row] = forward[row] = NAN;
        const float above = msv[row] - bias[row];
        if (!(above >= least)) continue;
        if (above >= sure)
            append(to_forward, n_to_forward, row);
        else
            append(to_viterbi, n_to_viterbi, row);
    }
}

__kernel void after_viterbi(__global const int *to_viterbi, __global const uint *n_to_viterbi,
                            __global const float *scores, __global const float *bias, const float least,
                            __global float *viterbi, __global int *to_forward, __global uint *n_to_forward)
{
    EACH(p, *n_to_viterbi) {
        const int row = to_viterbi[p];
        viterbi[row] = scores[p];
        if (scores[p] - bias[row] >= least) append(to_forward, n_to_forward, row);
    }
}

__kernel void after_forward(__global const int *to_forward, __global const uint *n_to_forward,
                            __global const float *scores, __global float *forward)
{
    EACH(p, *n_to_forward) forward[to_forward[p]] = scores[p];
}

__kernel void collect(__global const int *passed, __global const uint *n_passed, __global const float *bias,
                      __global const float *viterbi, __global const float *forward, __global uint4 *found)
{
    EACH(p, *n_passed) {
        const int row = passed[p];
        found[p] = (uint4)(row, as_uint(bias[row]), as_uint(viterbi[row]), as_uint(forward[row]));
    }
}
