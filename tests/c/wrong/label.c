/* gcc: incompatible type for argument 7 */
/* clang: passing 'int' to parameter of incompatible type 'telemetry_label_t' */
#include "hard.h"
void f(const uint32_t *pair) { hard_given(NULL, 1, HARD_WHY_FULL, 0, 0, 0, 5, "", 0, pair, NULL, 0, NULL, 0); }
