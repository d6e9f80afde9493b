/* The runtime of telemetry for C and for debuggers.
 *
 * Every program that links the Rust crate `telemetry` has these functions, once its runtime can start,
 * whether or not anything calls them; a stripped one has no names for a debugger to find them by. In gdb:
 *
 *     (gdb) call (void) telemetry_describe_last(20)
 *     (gdb) call (int) telemetry_dump("/tmp/what-happened.tel")
 *     (gdb) call (int) telemetry_set("Trace Seg")
 *
 * telemetry_describe_last and telemetry_dump read memory: they allocate nothing, take no lock and change
 * nothing, so they may be called wherever the process stands, in any thread, and in a signal handler.
 * The others are the Rust functions of the same names. They take locks and allocate: call them where the
 * program could, with all threads running (gdb's default: `set scheduler-locking off` or `replay`).
 *
 * A shared library that was built with a runtime of its own has its own functions for its own events. A
 * debugger calls the program's unless told otherwise: `call 'libplugin.so'::telemetry_flush()`. Two
 * runtimes in one image do not link.
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Switches on what the words name: kinds, events, `registry:word`, `all`, a number that is a bitmap of
 * kinds; a leading `-` switches off. At most 4095 bytes of UTF-8. Returns 0, or EINVAL for what is no such
 * text or null; words that name nothing are no error. */
int telemetry_set(const char *words);

/* Switches off what the words name; `all` is silence. Otherwise as telemetry_set. */
int telemetry_reset(const char *words);

/* Writes what all threads have recorded to where it is output. Waits up to 10 s for another thread that
 * is at it. */
void telemetry_flush(void);

/* Writes everything that is in memory to a file, made anew, as a stream of its own: facts about the
 * process, the registries, and all blocks, output or not, up to the last event. Reading it, expect what
 * is no longer in memory to be reported as missing. Returns 0 or the number of an error: EINVAL for a
 * path that is null or longer than 4095 bytes, EBUSY while another thread makes a dump or a traceback,
 * ENOMEM if there is no memory for blocks, and those of open(2) and write(2), when the file may be
 * incomplete but is readable as far as it goes. */
int telemetry_dump(const char *path);

/* Prints the last events of all threads, at most 256, to standard error, the newest last. */
void telemetry_describe_last(int events);

/* Messages: what the program itself may hear, for those who embed it. A message is named as in the relation, `Gc`
 * or `registry:Gc`, once an event of the relation was on or asked for; its parameters are named as there. An end
 * has the parameters of its begin, too. Errors are numbers: EINVAL for a null or what is no text, ENOENT for a name
 * that nothing has, or a value that is of another sort. */
typedef struct telemetry_message telemetry_message;

/* From now on the message is posted; returns 0, ENOMEM if not all that may run at once could be allocated ahead
 * (the rest is tried again with every message that is fetched), or an error. */
int telemetry_message_enable(const char *message);

/* Nobody wants to hear of it any more: what is queued is gone. */
int telemetry_message_disable(const char *message);

/* Messages that may be fetched, and that could not be posted so far. */
uint64_t telemetry_message_queued(const char *message);
uint64_t telemetry_message_dropped(const char *message);

/* The oldest message, or null; the second waits for one, so long at most. It is the caller's until freed. */
telemetry_message *telemetry_message_get(const char *message);
telemetry_message *telemetry_message_wait(const char *message, double seconds);
void telemetry_message_free(telemetry_message *message);

/* Whether it ends a pair; when it was posted, in ticks of the stream's clock. */
int telemetry_message_is_end(const telemetry_message *message);
uint64_t telemetry_message_ticks(const telemetry_message *message);

/* Values of a parameter: of an array its elements, else one; 0 if there is no such parameter. */
size_t telemetry_message_count(const telemetry_message *message, const char *parameter);

/* A value: numbers, addresses, labels, enums, flags and bool as integers, signed ones in two's complement; floats
 * as reals; strings and bytes, which end in no NUL and stay until the message is freed. */
int telemetry_message_integer(const telemetry_message *message, const char *parameter, size_t index, uint64_t *value);
int telemetry_message_real(const telemetry_message *message, const char *parameter, size_t index, double *value);
int telemetry_message_text(const telemetry_message *message, const char *parameter, const char **bytes, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
