/* gcc: the parameter of this event takes an integer of the other sign */
/* clang: the parameter of this event takes an integer of the other sign */
#include "hard.h"
void f(int length) { hard_step("a", length, 1); }
