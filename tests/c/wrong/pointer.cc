/* gcc: the parameter of this event takes an integer */
/* clang: the parameter of this event takes an integer */
#include "hard.h"
void f(const char *text) { hard_step("a", 1, text); }
