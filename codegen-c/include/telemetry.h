/* The runtime of telemetry for C and C++, and for debuggers.
 *
 * The headers of `telemetry c` have the events of a program. This one has everything else: control,
 * the flight recorder, snapshots, tracebacks, triggers, labels, marks, requests and messages. It needs C99
 * or C++11.
 *
 * Every program that links the Rust crate `telemetry` contains these functions, once its runtime
 * can start, whether or not anything calls them. A debugger cannot find them by name in a stripped
 * program. `telemetry gdb` and `telemetry gdb --lldb` print commands for gdb and lldb that call
 * them in any frame:
 *
 *     (gdb) telemetry last 20
 *     (gdb) telemetry dump /tmp/what-happened.tel
 *     (gdb) telemetry set Trace Seg
 *
 * telemetry_describe_last and telemetry_dump only read memory: they allocate nothing, take no lock
 * and change nothing. So they may be called wherever the process has stopped, in any thread, and
 * in a signal handler. telemetry_traceback, telemetry_intern, telemetry_label and telemetry_mark may be
 * called there, too.
 * The others are the Rust functions of the same names. They take locks and allocate: call them
 * where the program could, with all threads running (gdb's default: `set scheduler-locking off` or
 * `replay`). They must not be called inside of an allocator that they would call.
 *
 * No function needs a call before it: the runtime starts with the first one, or the first event.
 *
 * A shared library that was built with its own runtime has its own functions for its own events. A
 * debugger calls the program's functions by default, and those of a library by its name: `call
 * 'libplugin.so'::telemetry_flush()`. Two runtimes in one image do not link.
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Switches on what the words name: kinds, events, `registry:word`, `all`, or a number that is a
 * bitmap of kinds. A leading `-` switches off. The words are at most 4095 bytes of UTF-8. Returns
 * 0 on success, also for words that name nothing. Returns EINVAL for null and for any other text.
 * Returns EBUSY if it interrupts a thread that changes switches, or if telemetry has ended. */
int telemetry_set(const char *words);

/* Switches off what the words name; `all` switches everything off. Otherwise as telemetry_set. */
int telemetry_reset(const char *words);

/* Writes the words that say what is output, in a form that telemetry_set accepts, and a NUL.
 * Writes as much as fits into size bytes, and nothing if size is 0. Returns the length of the
 * words. */
size_t telemetry_get(char *words, size_t size);

/* The same for the flight recorder: what it names is recorded and kept in memory, even if it is not
 * output. */
int telemetry_record_set(const char *words);
int telemetry_record_reset(const char *words);
size_t telemetry_record_get(char *words, size_t size);

/* Writes what all threads have recorded to the sinks. Waits up to 10 s for another thread that is
 * writing. */
void telemetry_flush(void);

/* Writes a snapshot: everything that is retained, as a stream of its own, with all labels. Returns 0
 * or an error number: EINVAL for a path that is null or longer than 4095 bytes, and those of
 * open(2) and write(2). It allocates and waits for locks. telemetry_dump does neither. */
int telemetry_snapshot(const char *path);

/* Writes everything in memory to a new file, as a stream of its own: facts about the process, the
 * registries, and all blocks up to the last event, whether they are output or not. A reader of the
 * stream reports what is not in memory any more as missing. Returns 0 or an error number: EINVAL
 * for a path that is null or longer than 4095 bytes; EBUSY while another thread makes a dump or a
 * traceback; ENOMEM if there is no memory for blocks; and those of open(2) and write(2). After an
 * error the file may be incomplete, but it is readable as far as it goes. */
int telemetry_dump(const char *path);

/* Prints the last events of all threads, at most 256, to standard error, the newest last. */
void telemetry_describe_last(int events);

/* Writes the last events of the calling thread, at most 256, as text, a line for each, the newest
 * last, and a NUL. Writes as much as fits into size bytes, and nothing if size is 0. Returns the
 * length of all of the text. */
size_t telemetry_traceback(int events, char *text, size_t size);

/* The label of a string: a number that stands for it in events, and that the stream explains once.
 * 0 is not a label. */
#ifndef TELEMETRY_LABEL_T
#define TELEMETRY_LABEL_T
typedef struct telemetry_label_t { uint64_t number; } telemetry_label_t;
#endif

/* Returns the label of a string of that many bytes of UTF-8. Equal strings have the same label, and
 * a known one is found without a lock: but keep it, because that takes less time. A string is
 * truncated to 4096 bytes, or before the first byte that is not UTF-8. Returns 0 for a null
 * pointer, if there is no more room, and in a signal handler that interrupts this function. */
telemetry_label_t telemetry_intern(const char *text, size_t length);

/* Gives an address a name for readers of the stream, until it gets another one. */
void telemetry_label(const void *address, telemetry_label_t label);

/* Marks this moment with a text of that many bytes of UTF-8, as an event `telemetry:Mark`, which is
 * on unless it is switched off by this name. Every tool shows it, and pictures draw it as a line with the text.
 * The text is kept as a label, truncated as by telemetry_intern. A null pointer marks nothing. */
void telemetry_mark(const char *text, size_t length);

/* Answers a request: what follows its name, or an empty text, which ends in NUL. The answer is a
 * text of UTF-8 that ends in NUL, or has all of the size bytes, which are 65536 and zero at first. If
 * this returns 0, it is the answer. If not, its first 1024 characters are the reason for none. */
typedef int telemetry_answer(void *context, const char *text, char *answer, size_t size);

/* Has a function answer requests of a name: 1 to 64 letters, digits, `.`, `-` and `_` of ASCII. The user
 * asks with `telemetry control PROCESS --ask "NAME TEXT"`. The function runs in a thread of its own, and
 * up to four at once, so it must be safe to call from any thread, as long as the program runs. A later call
 * with the same name replaces it; a call of the earlier one may still run. Returns 0, or an error number:
 * EINVAL for null and for another name; ENOMEM if there are 64 other names already; EBUSY in a child whose
 * parent was in this function when it forked. */
int telemetry_on_request(const char *name, telemetry_answer *answer, void *context);

/* Adds a trigger: a condition, a colon with a space behind it, and an action, as docs/triggers.md
 * describes them, such as "Evicted.size > 1M: snapshot big.tel". Returns a number that is not 0. If
 * it is none, or if there are 64 already, returns 0 and writes the reason as text and a NUL, as much as
 * fits into size bytes. error may be null if size is 0. */
uint32_t telemetry_trigger_add(const char *trigger, char *error, size_t size);

/* Removes a trigger. Returns 0, or EINVAL if it does not exist. */
int telemetry_trigger_remove(uint32_t trigger);

/* Messages: events that the program itself receives, for code that embeds the program. The name of
 * a message is that in the registry, `Gc` or `registry:Gc`. Registries that a header of
 * `telemetry c` is made from are known when the program is loaded. Others are known once an event
 * was on or asked for. Its parameters have their names in the registry. An end also has the parameters of
 * its begin. Errors are numbers: EINVAL for null and for what is not text; ENOENT for a name that
 * does not exist, or for a value of another type. */
typedef struct telemetry_message telemetry_message;

/* Enables the message, so that it is posted from now on. Returns 0 or an error. The error is
 * ENOMEM if there is no memory for all pairs that may run at once; each fetched message then tries
 * to allocate the rest. */
int telemetry_message_enable(const char *message);

/* Disables the message. Queued messages are dropped. */
int telemetry_message_disable(const char *message);

/* The number of messages that can be fetched, and the number that could not be posted so far. */
uint64_t telemetry_message_queued(const char *message);
uint64_t telemetry_message_dropped(const char *message);

/* The oldest message, or null. The second function waits for one, for the given time at most. The
 * caller owns the message until it frees it. */
telemetry_message *telemetry_message_get(const char *message);
telemetry_message *telemetry_message_wait(const char *message, double seconds);
void telemetry_message_free(telemetry_message *message);

/* Whether the message ends a pair, and when it was posted, in ticks of the stream's clock. */
int telemetry_message_is_end(const telemetry_message *message);
uint64_t telemetry_message_ticks(const telemetry_message *message);

/* The number of values of a parameter: the length of an array, else one; 0 if there is no such
 * parameter. */
size_t telemetry_message_count(const telemetry_message *message, const char *parameter);

/* Read a value. Numbers, addresses, labels, enums, flags and bool are integers, signed ones in
 * two's complement. Floats are reals. Strings and bytes do not end in NUL, and stay until the
 * message is freed. */
int telemetry_message_integer(const telemetry_message *message, const char *parameter, size_t index, uint64_t *value);
int telemetry_message_real(const telemetry_message *message, const char *parameter, size_t index, double *value);
int telemetry_message_text(const telemetry_message *message, const char *parameter, const char **bytes, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
