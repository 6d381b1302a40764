/* Gains of two rows and two targets in one word of four bytes: first target and second target at the one row,
   then at the other. They are added to pairs of scores, none of which is so low that a sum is below 0.

   add_low(scores, word), add_high(scores, word)   the gains at the one row, at the other, added
   SECOND_GAIN(gain)                               the byte that stands for the gain of the second target

   Macros: PRODUCTS   1 if gains are taken out of a word by a product, which needs them to lie between -32 and 31;
                      it takes the place of two instructions, on units that have little else to do here */

#ifndef PRODUCTS
#define PRODUCTS 0
#endif

#if PRODUCTS && COMPUTE_CAPABILITY >= 90

/* 65536 does not fit 16 bits, so the second gain is there four times over. */
#define SECOND_GAIN(second) ((second) * 4)

pair_t add_low(pair_t scores, uint word)
{
    pair_t r;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x40000001), "r"(word), "r"(scores));
    return r;
}

pair_t add_high(pair_t scores, uint word)
{
    pair_t r;
    asm("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(0x40000001), "r"(word), "r"(scores));
    return r;
}

#else

#define SECOND_GAIN(second) (second)
#define add_low(scores, word) ADD_PAIRS(scores, LOW_PAIR(word))
#define add_high(scores, word) ADD_PAIRS(scores, HIGH_PAIR(word))

#endif
