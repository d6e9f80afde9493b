/* The half in C of both.rs. */
#include "hard.h"
#include "heap.h"

void step_in_c(uint32_t number);

void step_in_c(uint32_t number) {
    hard_step("c", 1, number);
    heap_freed((void *)0x10);
}
