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

#ifdef __cplusplus
}
#endif

#endif
