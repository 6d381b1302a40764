/* The 16-bit scores of HMMER3's Viterbi filter, 500 units to the bit. */

#define LOWEST_WORD (-32768)
#define MAX_WORD 32767
#define WORD_BASE 12000

/* From E to C and to J. */
#define WORD_E_MOVE (-500)

/* The best way out of the model beyond which J plays a part. */
#define SINGLE_MOST (WORD_BASE - WORD_E_MOVE)

/* B after a row, given the highest E until then and the score from N, C or J on to the next state. */
int begin_after(int e, int move)
{
    return max(WORD_BASE, e + WORD_E_MOVE) + move;
}

/* The score in nats of a sequence whose highest E was e, the same number on every device: the quotient
   is rounded correctly, which a plain division need not be. */
float word_score(int e, int move)
{
    const float scale = 721.34753f, reciprocal = 0.0013862944f; /* units to the nat */
    if (e >= MAX_WORD) return INFINITY;
    if (e + WORD_E_MOVE <= LOWEST_WORD) return -INFINITY;
    const float score = (float)(e + WORD_E_MOVE + move - WORD_BASE);
    const float near = score * reciprocal;
    return fma(fma(-near, scale, score), reciprocal, near) - 3.0f;
}
