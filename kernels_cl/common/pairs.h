/* Two signed 16-bit numbers in one 32-bit word.

   PAIR(v)                   both of them v
   ADD_AT_LEAST(a, b, c)     the greater of a + b and c, of each; sums must not overflow
   ADD_PAIRS(a, b)           the sum, of each
   HIGHER_PAIR(a, b)         the greater, of each
   HIGHEST_PAIR(a, b, c)     the greatest, of each
   LOW_PAIR(w), HIGH_PAIR(w) the two lower, the two higher of four signed bytes
   FOUR_BYTES(a, b, k)       byte k of both words, then byte k + 1 of both
   FIRST_OF(p), SECOND_OF(p) as ints

   Biased scores of two rows and two targets come in one word of four bytes: first target and second target at the
   one row, then at the other. They are added to pairs of scores, none of which is so low that a sum is below 0.

   ADD_LOW_BYTES(scores, word), ADD_HIGH_BYTES(scores, word)   those at the one row, at the other, added
   SECOND_BIASED(score)      the byte that stands for the score of the second target

   Macros: PRODUCTS   1 if scores are taken out of a word by a product, which needs them to lie between -32 and 31;
                      it takes the place of two instructions, on units that have little else to do here

   NVIDIA's cards from compute capability 9.0 on do each in one instruction; elsewhere the compiler is
   given vectors of two, which AMD's makes packed instructions of. */

#ifndef COMPUTE_CAPABILITY
#define COMPUTE_CAPABILITY 0
#endif
#ifndef PRODUCTS
#define PRODUCTS 0
#endif

typedef uint pair_t;

#define PAIR(v) (((uint)(v) & 0xffffu) | (uint)(v) << 16)
#define FIRST_OF(p) ((int)(short)(p))
#define SECOND_OF(p) ((int)(p) >> 16)

#if COMPUTE_CAPABILITY >= 90

pair_t ADD_AT_LEAST(pair_t a, pair_t b, pair_t c)
{
    pair_t r;
    asm("{ .reg .b32 sum; add.s16x2 sum, %1, %2; max.s16x2 %0, sum, %3; }" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}

pair_t ADD_PAIRS(pair_t a, pair_t b)
{
    pair_t r;
    asm("add.s16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

pair_t HIGHER_PAIR(pair_t a, pair_t b)
{
    pair_t r;
    asm("max.s16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

pair_t bytes_of(uint word, uint chosen)
{
    pair_t r;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(r) : "r"(word), "r"(chosen));
    return r;
}

/* Each byte, and its sign eight times over. */
#define LOW_PAIR(w) bytes_of(w, 0x9180)
#define HIGH_PAIR(w) bytes_of(w, 0xb3a2)

pair_t bytes_of_two(uint first, uint second, uint chosen)
{
    pair_t r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(first), "r"(second), "r"(chosen));
    return r;
}

/* k is 0 or 2. */
#define FOUR_BYTES(a, b, k) bytes_of_two(a, b, 0x5140 + (k) * 0x1111)

#else

pair_t HIGHER_PAIR(pair_t a, pair_t b)
{
    const short2 x = as_short2(a), y = as_short2(b);
    return as_uint(x > y ? x : y);
}

#define ADD_PAIRS(a, b) as_uint(as_short2(a) + as_short2(b))

pair_t ADD_AT_LEAST(pair_t a, pair_t b, pair_t c)
{
    return HIGHER_PAIR(ADD_PAIRS(a, b), c);
}

#define LOW_PAIR(w) as_uint(convert_short2(as_char4(w).lo))
#define HIGH_PAIR(w) as_uint(convert_short2(as_char4(w).hi))
#define FOUR_BYTES(a, b, k) as_uint((uchar4)(BYTE(a, k), BYTE(b, k), BYTE(a, (k) + 1), BYTE(b, (k) + 1)))
#define BYTE(w, k) (uchar)((w) >> (8 * (k)))

#endif

/* One instruction, too, on these cards. */
#define HIGHEST_PAIR(a, b, c) HIGHER_PAIR(HIGHER_PAIR(a, b), c)

#if PRODUCTS && COMPUTE_CAPABILITY >= 90

/* 65536 does not fit 16 bits, so the second score is there four times over. */
#define SECOND_BIASED(second) ((second) * 4)

pair_t ADD_LOW_BYTES(pair_t scores, uint word)
{
    pair_t r;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x40000001), "r"(word), "r"(scores));
    return r;
}

pair_t ADD_HIGH_BYTES(pair_t scores, uint word)
{
    pair_t r;
    asm("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x40000001), "r"(word), "r"(scores));
    return r;
}

#else

#define SECOND_BIASED(second) (second)
#define ADD_LOW_BYTES(scores, word) ADD_PAIRS(scores, LOW_PAIR(word))
#define ADD_HIGH_BYTES(scores, word) ADD_PAIRS(scores, HIGH_PAIR(word))

#endif
