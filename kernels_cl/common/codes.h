/* Letter codes. */

#define N_CODES 32
#define NO_CODE 31 /* stands where a sequence has no residue; it matches nothing */
