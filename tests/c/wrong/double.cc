/* gcc: the parameter of this event takes an integer */
/* clang: the parameter of this event takes an integer */
#include "hard.h"
void f(double number) { hard_step("a", 1, number); }
