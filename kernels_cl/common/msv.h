/* The special states of MSV, with the 8-bit scores of HMMER3: thirds of a bit, BASE added. */

#define BASE 190
#define E_MOVE 3
#define OVERFLOW 255

/* The score of J, which is that of C, and of B; `enter` is the cost from J or N to any node. */
typedef struct { int level, begin, enter; } specials_t;

/* Before the first residue; `move` is the cost of leaving N, C and J, `into` that from B to any node. */
specials_t specials_at_start(int move, int into)
{
    specials_t s;
    s.level = 0;
    s.enter = (move + into) & 255;
    s.begin = BASE > s.enter ? BASE - s.enter : 0;
    return s;
}

/* After a residue whose best cell is e. */
specials_t specials_after(specials_t s, int e, int bias)
{
    const int level = e - E_MOVE > s.level ? e - E_MOVE : s.level;
    const int before = level > BASE ? level : BASE;
    s.level = e + bias >= 255 ? OVERFLOW : level;
    s.begin = before > s.enter ? before - s.enter : 0;
    return s;
}
