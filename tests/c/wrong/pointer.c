/* gcc: wrong type argument to unary plus */
/* clang: invalid argument type 'const char *' to unary expression */
#include "hard.h"
void f(const char *text) { hard_step("a", 1, text); }
