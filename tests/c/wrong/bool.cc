/* gcc: the parameter of this event takes an integer */
/* clang: the parameter of this event takes an integer */
#include "hard.h"
void f(bool is_it) { hard_step("a", 1, is_it); }
