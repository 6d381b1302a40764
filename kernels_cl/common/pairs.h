/* Two signed 16-bit numbers in one 32-bit word.

   PAIR(v)                   both of them v
   ADD_AT_LEAST(a, b, c)     the greater of a + b and c, of each; sums must not overflow
   HIGHER_PAIR(a, b)         the greater, of each
   LOW_PAIR(w), HIGH_PAIR(w) the two lower, the two higher of four signed bytes
   FIRST_OF(p), SECOND_OF(p) as ints

   NVIDIA's cards from compute capability 9.0 on do each in one instruction; elsewhere the compiler is
   given vectors of two, which AMD's makes packed instructions of. */

#ifndef COMPUTE_CAPABILITY
#define COMPUTE_CAPABILITY 0
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

#else

pair_t HIGHER_PAIR(pair_t a, pair_t b)
{
    const short2 x = as_short2(a), y = as_short2(b);
    return as_uint(x > y ? x : y);
}

pair_t ADD_AT_LEAST(pair_t a, pair_t b, pair_t c)
{
    return HIGHER_PAIR(as_uint(as_short2(a) + as_short2(b)), c);
}

#define LOW_PAIR(w) as_uint(convert_short2(as_char4(w).lo))
#define HIGH_PAIR(w) as_uint(convert_short2(as_char4(w).hi))

#endif
