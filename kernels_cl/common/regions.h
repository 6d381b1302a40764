/* The special states of all rows of a target, and the regions that they show (clalign/reference/decoding.py). */

#define INSIDE 0.25f
#define AT_EDGE 0.10f
#define SEVERAL 0.20f

/* Replace what Forward left of a row > 0 by its product with Backward: of N, J and C before the residue, of E and B
   after it; the last slot by the quotient of the divisors. */
CALL void decode_specials(slots_t slots, int row, specials_t s, reals scale, reals loop)
{
    slots += FEW(row * N_SLOTS);
    slots_t before = slots - FEW(N_SLOTS);
    const reals forward_scale = SPREAD(slots[FEW(SLOT_SCALE)]);
    slots[FEW(SLOT_N)] = PACK(SPREAD(before[FEW(SLOT_N)]) * s.n * loop);
    slots[FEW(SLOT_J)] = PACK(SPREAD(before[FEW(SLOT_J)]) * s.j * loop);
    slots[FEW(SLOT_C)] = PACK(SPREAD(before[FEW(SLOT_C)]) * s.c * loop);
    slots[FEW(SLOT_E)] = PACK(SPREAD(slots[FEW(SLOT_E)]) * s.e * forward_scale);
    slots[FEW(SLOT_B)] = PACK(SPREAD(slots[FEW(SLOT_B)]) * s.b * forward_scale);
    slots[FEW(SLOT_SCALE)] = PACK(quotient(forward_scale, scale));
}

/* Whether a region may hold several domains; running sums are in the slots of N (begun) and E (ended). */
CALL int is_multiple(__global const float *slots, int first, int last)
{
    for (int z = first; z <= last; z++) {
        const float ended = SLOT(z, SLOT_E) - SLOT(first - 1, SLOT_E);
        const float begun = SLOT(last, SLOT_N) - SLOT(z - 1, SLOT_N);
        if ((ended < begun ? ended : begun) >= SEVERAL) return 1;
    }
    return 0;
}

/* Write the regions of a target of one problem: at the first residue of each, its length * 2 + whether it may
   hold several domains, and 0 elsewhere. Returns the expected number of domains, or no number on overflow.
   `factor` is 1 / N of the first row of Backward. */
CALL float find_regions(__global float *slots, int length, float factor, __global int *regions)
{
    float begun = 0.0f, ended = 0.0f;
    int first = 0, triggered = 0;
    SLOT(0, SLOT_N) = SLOT(0, SLOT_E) = 0.0f;
    for (int x = 1; x <= length; x++) {
        const float more_begun = begun + SLOT(x - 1, SLOT_B) * factor;
        factor *= SLOT(x - 1, SLOT_SCALE);
        const float more_ended = ended + SLOT(x, SLOT_E) * factor;
        float outside = SLOT(x, SLOT_N) * factor;
        outside = outside + SLOT(x, SLOT_J) * factor;
        outside = outside + SLOT(x, SLOT_C) * factor;
        const float inside = 1.0f - outside;
        const int not_begun = inside - (more_begun - begun) < AT_EDGE;
        const int not_ended = inside - (more_ended - ended) < AT_EDGE;
        begun = SLOT(x, SLOT_N) = more_begun;
        ended = SLOT(x, SLOT_E) = more_ended;
        regions[x - 1] = 0;
        if (!triggered) {
            if (not_begun || !first) first = x;
            triggered = inside >= INSIDE;
        } else if (not_ended) {
            regions[first - 1] = (x - first + 1) << 1 | is_multiple(slots, first, x);
            first = triggered = 0;
        }
    }
    if (isfinite(factor)) return begun;
    for (int x = 0; x < length; x++) regions[x] = 0;
    return NAN;
}
