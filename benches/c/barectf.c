/* Work W with barectf, as loop.c has it: `barectf w|off EVENTS`. A packet of 64 KiB is filled again
 * and again, and goes nowhere, like a stream to /dev/null. */
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "barectf.h"
#include "fields.h"

enum { PACKET = 64 << 10 };

static struct barectf_main_ctx context;
static uint8_t packet[PACKET];

static uint64_t read_clock(void *data) {
    (void)data;
    return __rdtsc();
}

static int is_full(void *data) {
    (void)data;
    return 0;
}

static void open_packet(void *data) {
    (void)data;
    barectf_main_open_packet(&context);
}

static void close_packet(void *data) {
    (void)data;
    barectf_main_close_packet(&context);
}

__attribute__((noinline)) static void telemetry_hot_loop(uint64_t events) {
    for (uint64_t i = 0; i < events; i++) {
        FIELDS(i);
        barectf_trace_alloc(&context, (uintptr_t)pointer, (uintptr_t)address, size, level);
    }
}

int main(int count, char **arguments) {
    if (count != 3) {
        return 2;
    }
    struct barectf_platform_callbacks callbacks = {read_clock, is_full, open_packet, close_packet};
    barectf_init(&context, packet, PACKET, callbacks, NULL);
    open_packet(NULL);
    barectf_enable_tracing(&context, strcmp(arguments[1], "off") != 0);
    telemetry_hot_loop(strtoull(arguments[2], NULL, 10));
    return 0;
}
