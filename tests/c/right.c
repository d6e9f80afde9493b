/* Calls that compile in C without a warning: any number, and any pointer to an object. */
#include <string.h>

#include "hard.h"

struct node {
    const char *name;
    char text[8];
    unsigned bits : 3;
    const volatile void *page;
};

void f(struct node *node, telemetry_label_t label, const uint32_t *pair, size_t length, void *const *stack) {
    char local[16] = "abc";
    uint32_t two[2] = {1, 2};
    hard_step("a", 1, 1);
    hard_step(NULL, 0, 'a');
    hard_step(local, sizeof local, node->bits);
    hard_step(node->text, strlen(node->text), 1u);
    hard_step(node ? node->name : NULL, 1, 1);
    hard_step((node++)->name, length, 1);
    hard_step(&local[1], 1, 1);
    if (length > 1) hard_signal(-1); else hard_step(local + length, 1, 1);
    hard_given(node, length, HARD_WHY_FULL, HARD_MODE_READ | HARD_MODE_WRITE, 1, 0.5, label, local, 1, two, stack, 1, NULL, 0);
    hard_given(node->page, 1, HARD_WHY_FULL, 0, length == 1, 1, label, node, 1, pair, NULL, 0, (const uint8_t[]){1}, 1);
    hard_given((void *)length, 1, 1, 0, 0, 1.0f, label, "", 0, ((uint32_t[]){1, 2}), NULL, 0, NULL, 0);
}
