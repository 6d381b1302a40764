/* The special states of HMMER3's Forward. J is the same as C, whose values are half of E's each.

   All values of a row are to be multiplied by 2 to the power of `exponent`: they are scaled when E is large. */

#define LARGEST_SUM 1e4f
#define LN_2 0.69314718055994531f

typedef struct {
    float n, c, loop, move;
    int exponent;
} forward_specials_t;

forward_specials_t forward_specials_at_start(float move)
{
    const forward_specials_t s = {1.0f, 0.0f, 1.0f - move, move, 0};
    return s;
}

/* The special states after a row with this E; returns B. */
float forward_specials_after(forward_specials_t *s, float e)
{
    s->n *= s->loop;
    s->c = s->c * s->loop + e * 0.5f;
    return (s->n + s->c) * s->move;
}

/* Scale the special states by a power of two that brings E near to 1; returns the factor for all else. */
float scale_specials(forward_specials_t *s, float e)
{
    const int exponent = (as_int(e) >> 23) - 127;
    const float factor = as_float((127 - exponent) << 23);
    s->n *= factor;
    s->c *= factor;
    s->exponent += exponent;
    return factor;
}

/* The score in nats. */
float forward_score(const forward_specials_t *s)
{
    if (!(s->c > 0.0f)) return -INFINITY;
    return (float)s->exponent * LN_2 + (log(s->c) + log(s->move));
}
