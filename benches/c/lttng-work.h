/* The tracepoint of work W for LTTng-UST, which includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER work
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng-work.h"

#if !defined(LTTNG_WORK_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_WORK_H
#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(work, alloc,
    LTTNG_UST_TP_ARGS(uint64_t, pointer, uint64_t, address, uint64_t, size, uint32_t, level),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer_hex(uint64_t, pointer, pointer)
        lttng_ust_field_integer_hex(uint64_t, address, address)
        lttng_ust_field_integer(uint64_t, size, size)
        lttng_ust_field_integer(uint32_t, level, level)))

#endif
#include <lttng/tracepoint-event.h>
