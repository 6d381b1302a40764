/* The rate of int32 additions and maxima, the operations that Viterbi is made of, or of those of floats.

   A work-item advances eight chains of WIDTH lanes each; a round is one addition and one maximum for
   every value. The chains hang together and the steps are known at run time only, so that no compiler
   can leave a round out.

   Buffers
     start    int[8]                  first value of each chain; a lane adds its number
     steps    int[8]                  what a chain adds in a round
     results  int[n_items * WIDTH]    out: all chains of a lane, combined by exclusive or

   Scalars
     rounds   how many

   Macros
     WIDTH    lanes of a work-item: 1, 2, 4, 8 or 16
     FLOATS   1 to compute with floats, which hold all of these numbers exactly

   Geometry: any. */

#ifndef WIDTH
#define WIDTH 1
#endif

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if WIDTH == 1
#define LANES_OF(base) base
#else
#define LANES_OF(base) GLUE(base, WIDTH)
#endif
typedef LANES_OF(int) result_t;
#ifndef FLOATS
#define FLOATS 0
#endif
#if FLOATS
typedef LANES_OF(float) chain_t;
#if WIDTH == 16
/* By halves: LLVM 14 aborts on the conversion of 16 floats at once where it compiles for a Zen 4. */
#define RESULT(x) (int16)(convert_int8(x.lo), convert_int8(x.hi))
#else
#define RESULT(x) LANES_OF(convert_int)(x)
#endif
#else
typedef result_t chain_t;
#define RESULT(x) x
#endif

/* The number of a lane is its place in the vector plus its work-item's number modulo PERIOD. */
#define PERIOD 61
#define PLACES_1 0
#define PLACES_2 0, 1
#define PLACES_4 PLACES_2, 2, 3
#define PLACES_8 PLACES_4, 4, 5, 6, 7
#define PLACES_16 PLACES_8, 8, 9, 10, 11, 12, 13, 14, 15
#define PLACES GLUE(PLACES_, WIDTH)

/* A chain, its sum compared with the next one. */
#define ADVANCE(x, step, next) x += step; x = x > next ? x : next

__kernel void peak_rate(__global const int *start, __global const int *steps, const int rounds,
                        __global result_t *results)
{
    const size_t item = get_global_id(0);
    const chain_t number = (chain_t)(PLACES) + (int)(item % PERIOD);
    chain_t a = number + start[0], b = number + start[1], c = number + start[2], d = number + start[3];
    chain_t e = number + start[4], f = number + start[5], g = number + start[6], h = number + start[7];
    const chain_t s = steps[0], t = steps[1], u = steps[2], v = steps[3];
    const chain_t w = steps[4], x = steps[5], y = steps[6], z = steps[7];
    for (int round = 0; round < rounds; round++) {
        ADVANCE(a, s, b);
        ADVANCE(b, t, c);
        ADVANCE(c, u, d);
        ADVANCE(d, v, e);
        ADVANCE(e, w, f);
        ADVANCE(f, x, g);
        ADVANCE(g, y, h);
        ADVANCE(h, z, a);
    }
    results[item] = RESULT(a) ^ RESULT(b) ^ RESULT(c) ^ RESULT(d) ^ RESULT(e) ^ RESULT(f) ^ RESULT(g) ^ RESULT(h);
}
