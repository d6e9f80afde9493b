/* gcc: invalid conversion from 'int' to 'const char*' */
/* clang: no matching function for call to 'hard_step_' */
#include "hard.h"
void f(int number) { hard_step(number, 1, 1); }
