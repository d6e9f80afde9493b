/* Work W in C: `loop WORK EVENTS`, where WORK is loop, off, w or w2. `benches/c/run` counts the
 * instructions of telemetry_hot_loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "telemetry.h"
#include "work.h"

static const char *const NAMES[] = {"page-fault-00000", "page-fault-00001", "alloc-slab-00002", "free-block-00003"};

__attribute__((noinline)) static void telemetry_hot_loop(const char *work, uint64_t events) {
    if (strcmp(work, "loop") == 0) {
        for (uint64_t i = 0; i < events; i++) {
            FIELDS(i);
            opaque((uintptr_t)pointer), opaque((uintptr_t)address), opaque(size), opaque(level);
        }
    } else if (strcmp(work, "w2") == 0) {
        for (uint64_t i = 0; i < events; i++) {
            FIELDS(i);
            work_named(pointer, address, size, level, NAMES[n & 3], 16);
        }
    } else {
        for (uint64_t i = 0; i < events; i++) {
            FIELDS(i);
            work_alloc(pointer, address, size, level);
        }
    }
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: loop loop|off|w|w2 EVENTS\n");
        return 2;
    }
    /* The first event of a registry starts the runtime. */
    work_alloc(NULL, NULL, 0, 0);
    if (strcmp(arguments[1], "off") != 0) {
        telemetry_set("all");
    }
    telemetry_hot_loop(arguments[1], strtoull(arguments[2], NULL, 10));
    return 0;
}
