/* gcc: negative width in bit-field 'the_parameter_of_this_event_takes_a_pointer' */
/* clang: bit-field 'the_parameter_of_this_event_takes_a_pointer' has negative width */
#include "hard.h"
void f(int number) { hard_step(number, 1, 1); }
