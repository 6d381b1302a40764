/* Two pieces that a group of lanes takes at once, each lane BLOCK residues behind its left neighbor (needs
   common/pairs_of_words.h and common/pieces.h). */

#define FOREVER 0x7fffffff

/* Two pieces, what is at the right edge of the lane, and the letters that come next. */
typedef struct {
    piece_t a, b;
    uint2 right[BLOCK];
    uint of_a[BLOCK], of_b[BLOCK];
    int i;    /* the lane's next residue */
    int todo; /* blocks */
} pair_of_pieces_t;

void open_pieces(pair_of_pieces_t *w, const strip_t *s, uint lane)
{
    const int longest = max(w->a.length, w->b.length);
    w->i = -(int)lane * BLOCK;
    w->todo = w->a.number < 0 ? FOREVER : longest > 0 ? (longest + BLOCK - 1) / BLOCK + LANES - 1 : 0;
#pragma unroll
    for (int r = 0; r < BLOCK; r++) {
        w->right[r] = (uint2)(s->x[NODES - 1], s->least);
        w->of_a[r] = code_at(&w->a, w->i + r);
        w->of_b[r] = code_at(&w->b, w->i + r);
    }
}

/* One block. */
__attribute__((always_inline))
void next_block(pair_of_pieces_t *w, strip_t *s, EMISSIONS const int4 *emissions, pair_t begin, uint lane,
                __local int *scratch)
{
    uint2 left[BLOCK];
    EMISSIONS const int4 *of_a[BLOCK], *of_b[BLOCK];
    w->i += BLOCK;
#pragma unroll
    for (int r = 0; r < BLOCK; r++) {
        of_a[r] = emissions + w->of_a[r] * EIGHTS * LANES;
        of_b[r] = emissions + w->of_b[r] * EIGHTS * LANES;
        w->of_a[r] = code_at(&w->a, w->i + r);
        w->of_b[r] = code_at(&w->b, w->i + r);
        left[r].x = shuffle_up(w->right[r].x, 1, begin, lane, scratch);
        left[r].y = shuffle_up(w->right[r].y, 1, s->least, lane, scratch);
    }
#pragma unroll
    for (int r = 0; r < BLOCK; r++) w->right[r] = next_row(s, of_a[r], of_b[r], left[r]);
}
