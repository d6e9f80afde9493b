/* gcc: invalid conversion from 'int' to 'hard_why' */
/* clang: no matching function for call to 'hard_given_' */
#include "hard.h"
void f(telemetry_label_t label, const uint32_t *pair) {
    hard_given(nullptr, 1, 2, HARD_MODE_READ, true, 0.5, label, "", 0, pair, nullptr, 0, nullptr, 0);
}
