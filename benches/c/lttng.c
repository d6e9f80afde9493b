/* Work W with LTTng-UST, as loop.c has it: `lttng w|off EVENTS`. The session, which `run` makes,
 * says whether the tracepoint is on. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include <stdlib.h>

#include "fields.h"
#include "lttng-work.h"

__attribute__((noinline)) static void telemetry_hot_loop(uint64_t events) {
    for (uint64_t i = 0; i < events; i++) {
        FIELDS(i);
        lttng_ust_tracepoint(work, alloc, (uintptr_t)pointer, (uintptr_t)address, size, level);
    }
}

int main(int count, char **arguments) {
    if (count != 3) {
        return 2;
    }
    telemetry_hot_loop(strtoull(arguments[2], NULL, 10));
    return 0;
}
