/* gcc: the parameter of this event takes a smaller integer */
/* clang: the parameter of this event takes a smaller integer */
#include "hard.h"
void f() { hard_step("a", 1, -1); }
