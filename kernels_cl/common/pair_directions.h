/* The way back along the best alignment of two sequences, cell by cell. */

#include "common/vectors.h"

/* What is known of a cell: how its score comes about, and whether a gap that leaves it begins with it. */
enum { FROM_NOTHING, FROM_BOTH, FROM_TARGET, FROM_QUERY };
enum { CELL_FROM = 3, CELL_OPENS_TARGET = 4, CELL_OPENS_QUERY = 8 };

/* A path on the way back: the cell where it is, counted from 1, the gap it is in, or FROM_NOTHING, and the first of its
   letters. */
typedef struct {
    int i, j, gap;
    __global uchar *letters;
} path_t;

/* Go one column back; returns 0 if the alignment begins after this cell. */
CALL int step_back(path_t *path, int cell)
{
    if ((path->gap == FROM_TARGET && cell & CELL_OPENS_TARGET) || (path->gap == FROM_QUERY && cell & CELL_OPENS_QUERY))
        path->gap = FROM_NOTHING;
    const int from = path->gap ? path->gap : cell & CELL_FROM;
    if (from == FROM_NOTHING) return 0;
    path->gap = from == FROM_BOTH ? FROM_NOTHING : from;
    *--path->letters = from == FROM_BOTH ? 'M' : from == FROM_TARGET ? 'D' : 'I';
    path->i -= from != FROM_TARGET;
    path->j -= from != FROM_QUERY;
    return 1;
}

/* Go back to the beginning of both sequences from where one of them begins. */
CALL void step_out(path_t *path)
{
    for (; path->i > 0; path->i--) *--path->letters = 'I';
    for (; path->j > 0; path->j--) *--path->letters = 'D';
}
