/* gcc: macro "hard_step" requires 3 arguments, but only 2 given */
/* clang: too few arguments provided to function-like macro invocation */
#include "hard.h"
void f(void) { hard_step("a", 1); }
