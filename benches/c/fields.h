/* The parameters of event `i` of work W, as benches/common has them for Rust. */
#include <stdint.h>

/* Hides a value from the optimizer at no cost. */
static inline uint64_t opaque(uint64_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

#define FIELDS(i) \
    uint64_t n = opaque(i); \
    void *pointer = (void *)(uintptr_t)(UINT64_C(0x7f3a00000000) + n * 64); \
    void *address = (void *)(uintptr_t)(UINT64_C(0x558100000000) + ((n * 0x9E37) & 0xffffff)); \
    uint64_t size = 16 + (n & 0xfff); \
    uint32_t level = (uint32_t)(n & 7)
