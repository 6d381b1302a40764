/* Smith-Waterman with linear gaps: one cell, which of several equal ways to it counts, and the way back.
   The order of tests is that of clalign/reference/smith_waterman_trace.py. */

#include "common/pair_directions.h"

/* Places of an alignment's numbers in `ends`: score, where it ends and begins (i, j), columns. */
#define END_SCORE 0
#define END_I 1
#define END_J 2
#define START_I 3
#define START_J 4
#define END_COLUMNS 5
#define N_ENDS 6

/* The score of a cell after its neighbors; `pair` is what its two residues score. */
int linear_cell(int corner, int above, int left, int pair, int gap, ushort *direction)
{
    const int paired = corner + pair, in_target = left - gap, in_query = above - gap;
    const int score = max(max(paired, 0), max(in_target, in_query));
    *direction = score == 0        ? FROM_NOTHING
                 : score == paired ? FROM_BOTH
                                   : (score == in_target ? FROM_TARGET : FROM_QUERY);
    return score;
}

/* Follow the directions from (i, j); the path ends at the end of its `room` bytes. */
void linear_traceback(__global const ushort *directions, int width, int i, int j, __global uchar *path, int room,
               __global int *end)
{
    int k = room;
    for (;;) {
        const ushort direction = directions[(size_t)i * width + j];
        if (direction == FROM_NOTHING) break;
        path[--k] = direction == FROM_BOTH ? 'M' : direction == FROM_TARGET ? 'D' : 'I';
        i -= direction != FROM_TARGET;
        j -= direction != FROM_QUERY;
    }
    end[START_I] = i;
    end[START_J] = j;
    end[END_COLUMNS] = room - k;
}
