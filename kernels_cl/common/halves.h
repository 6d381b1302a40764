/* Adding one half of a 32-bit word, a signed 16-bit number, to an int.

   ADD_LOW(word, v), ADD_HIGH(word, v)

   NVIDIA's two-way dot product does it in one instruction, and not in the pipe that adds and compares. */

#ifndef COMPUTE_CAPABILITY
#define COMPUTE_CAPABILITY 0
#endif

#if COMPUTE_CAPABILITY >= 61

int dot_halves(int word, int chosen, int v)
{
    int r;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(chosen), "r"(v));
    return r;
}

#define ADD_LOW(word, v) dot_halves(word, 0x0001, v)
#define ADD_HIGH(word, v) dot_halves(word, 0x0100, v)

#else

#define ADD_LOW(word, v) ((int)(short)(word) + (v))
#define ADD_HIGH(word, v) (((word) >> 16) + (v))

#endif
