/* gcc: negative width in bit-field 'the_parameter_of_this_event_takes_a_pointer' */
/* clang: bit-field 'the_parameter_of_this_event_takes_a_pointer' has negative width */
#include "hard.h"
void f(telemetry_label_t label, const uint32_t *pair, unsigned long address) {
    hard_given(address, 1, HARD_WHY_FULL, 0, 0, 0, label, "", 0, pair, NULL, 0, NULL, 0);
}
