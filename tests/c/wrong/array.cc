/* gcc: cannot convert 'const long unsigned int*' to 'const uint32_t*' */
/* clang: no matching function for call to 'hard_given_' */
#include "hard.h"
void f(telemetry_label_t label, const unsigned long *pair) {
    hard_given(nullptr, 1, HARD_WHY_FULL, HARD_MODE_READ, true, 0.5, label, "", 0, pair, nullptr, 0, nullptr, 0);
}
