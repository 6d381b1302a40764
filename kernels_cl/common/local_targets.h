/* Targets, or parts of them, that lie side by side: their Forward, and what is kept of each row. */

/* What is kept of a row of Forward. What Backward makes of it: see its users. */
enum { SLOT_N, SLOT_E, SLOT_J, SLOT_B, SLOT_C, SLOT_SCALE, N_SLOTS };

/* The slots of one problem. */
#define SLOT(row, n) slots[((row) * N_SLOTS + (n)) * SEQUENCES]

/* `place` is where the answers go, -1 if there is no problem here. */
typedef struct {
    int place[PROBLEMS], length[PROBLEMS], longest;
    __global const uchar *codes[PROBLEMS];
    float score[PROBLEMS];
} targets_t;

CALL void place_target(targets_t *t, int s, int place, int length, __global const uchar *codes)
{
    t->place[s] = place;
    t->length[s] = length;
    t->longest = s == 0 ? length : LARGER(t->longest, length);
    t->codes[s] = codes;
    t->score[s] = 0.0f;
}

/* The numbers of the problems in their four lanes each. */
CALL reals from_each(const int *numbers)
{
    lanes_t u;
    for (int lane = 0; lane < (int)(sizeof(u) / 4); lane++) u.lane[lane] = (float)numbers[lane / 4];
    return u.v;
}

/* Several domains may be hit, or (`is_single`) one, in targets of these lengths. */
CALL ends_t ends_for(const int *lengths, int is_single)
{
    ends_t ends;
    const float ways = is_single ? 2.0f : 3.0f;
    ends.move = quotient((reals)(ways), from_each(lengths) + ways);
    ends.loop = 1.0f - ends.move;
    ends.e_to_c = (reals)(is_single ? 1.0f : 0.5f);
    ends.e_to_j = (reals)(is_single ? 0.0f : 0.5f);
    return ends;
}

CALL void keep_specials(slots_t slots, int row, specials_t s, reals scale)
{
    slots += FEW(row * N_SLOTS);
    slots[FEW(SLOT_N)] = PACK(s.n);
    slots[FEW(SLOT_E)] = PACK(s.e);
    slots[FEW(SLOT_J)] = PACK(s.j);
    slots[FEW(SLOT_B)] = PACK(s.b);
    slots[FEW(SLOT_C)] = PACK(s.c);
    slots[FEW(SLOT_SCALE)] = PACK(scale);
}

/* Forward of all problems, as far as the longest. Each row is written `stride` (of D: `d_stride`) vectors behind
   the row before; 0 keeps only the last. */
CALL void forward_targets(const team_t *team, targets_t *t, grid m, grid i, grid d, int stride, int d_stride,
                          slots_t slots, const ends_t *ends)
{
    specials_t s = specials_at_start(ends);
    for (int q = 0; q < team->vectors; q++) m[AT(q)] = i[AT(q)] = d[AT(q)] = NONE;
    keep_specials(slots, 0, s, (reals)(1.0f));
    for (int x = 0; x < t->longest; x++) {
        const emission_t emission = emissions_at(team, t->codes, t->length, x);
        grid old_m = m, old_i = i, old_d = d;
        m += AT(stride);
        i += AT(stride);
        d += AT(d_stride);
        s = after_row(s, forward_row(team, old_m, old_i, old_d, m, i, d, s.b, &emission), ends);
        lanes_t scale, last;
        scale.v = scale_forward(team, m, i, d, &s);
        last.v = s.c * ends->move;
        keep_specials(slots, x + 1, s, scale.v);
        for (int p = 0; p < PROBLEMS; p++) {
            if (x < t->length[p]) t->score[p] = with_logarithm(t->score[p], OF(scale, p));
            if (x == t->length[p] - 1) t->score[p] = (float)((wide)t->score[p] + log((wide)OF(last, p)));
        }
    }
}
