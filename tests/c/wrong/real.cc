/* gcc: the parameter of this event takes a float or a double */
/* clang: the parameter of this event takes a float or a double */
#include "hard.h"
void f(telemetry_label_t label, const uint32_t *pair) {
    hard_given(nullptr, 1, HARD_WHY_FULL, HARD_MODE_READ, true, 5, label, "", 0, pair, nullptr, 0, nullptr, 0);
}
