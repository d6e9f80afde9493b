/* gcc: the parameter of this event takes a smaller integer */
/* clang: the parameter of this event takes a smaller integer */
#include "hard.h"
void f(unsigned long number) { hard_step("a", 1, number); }
