/* How often a motif occurs in each sequence; a work-item has one sequence.

   Buffers: residues and offsets of the batch, motif (M bytes), counts (int32 for each sequence).
   Macro: M, the length of the motif. */
kernel void count_motif(global const uchar *residues, global const uint *offsets, global const uchar *motif,
                        global int *counts)
{
    const uint row = get_global_id(0);
    int n = 0;
    for (uint start = offsets[row]; start + M <= offsets[row + 1]; ++start) {
        uint same = 0;
        while (same < M && residues[start + same] == motif[same])
            ++same;
        n += same == M;
    }
    counts[row] = n;
}
