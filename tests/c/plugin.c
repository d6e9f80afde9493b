/* A library that is loaded by dlopen, and emits. */
#include "hard.h"

void plugin(void);

void plugin(void) {
    hard_step("plugin", 6, 4);
}
