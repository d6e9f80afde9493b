from __future__ import annotations

# --- The registry of the runtime's own events, for streams from before it had marks. A test writes
# this file: `cargo xtask bless python`.

_RUNTIME_NAME = "telemetry"
_RUNTIME_TOML = """\
[registry]
name = "telemetry"
version = { major = 1, median = 0, minor = 7 }
doc = "What the runtime says of itself, in every stream beside the program's own events"

[kinds]
Control = { bit = 0, doc = "changes of what is recorded and output" }
Label = { bit = 1, doc = "strings and addresses with names" }
Message = { bit = 2, doc = "what the program itself hears of its events" }
Program = { bit = 3, doc = "marks, and how the program ended" }
Usage = { bit = 4, doc = "what the process uses; off unless it is named" }
Sample = { bit = 5, doc = "samples of threads" }

[types.ControlAction]
repr = "u8"
doc = "What was done to a switch"
[types.ControlAction.values]
Set = { value = 1, doc = "switched on" }
Reset = { value = 2, doc = "switched off" }

[types.ControlMask]
repr = "u8"
doc = "A switch that every event has"
[types.ControlMask.values]
Output = { value = 0, doc = "whether the event goes to sinks" }
Record = { value = 1, doc = "whether the event is recorded in memory" }

[types.MessageDrop]
repr = "u8"
doc = "Why the program does not hear of something"
[types.MessageDrop.values]
NoMemory = { value = 1, doc = "there was no memory to allocate the pair ahead" }
TooMany = { value = 2, doc = "as many pairs run as the message has its limit" }
BegunTwice = { value = 3, doc = "a pair of the key runs" }
NotBegun = { value = 4, doc = "no pair of the key runs, or it began before the message was enabled" }
BeginDropped = { value = 5, doc = "its begin was dropped" }
WrongThread = { value = 6, doc = "another thread began the pair, which has no key" }
Nested = { value = 7, doc = "it interrupted its thread amid another message" }
Busy = { value = 8, doc = "another thread was amid a message for too long" }

[types.Signal]
repr = "u8"
doc = "A signal that ends a program"
[types.Signal.values]
Segv = { value = 1, doc = "SIGSEGV: an invalid access of memory" }
Bus = { value = 2, doc = "SIGBUS: an access of memory that does not exist" }
Ill = { value = 3, doc = "SIGILL: an invalid instruction" }
Fpe = { value = 4, doc = "SIGFPE: an arithmetic error" }
Abrt = { value = 5, doc = "SIGABRT: the program gave up" }
Trap = { value = 6, doc = "SIGTRAP: a breakpoint" }
Sys = { value = 7, doc = "SIGSYS: a system call that is not allowed" }

[types.StackEnd]
repr = "u8"
doc = "Why the walk of a call stack ended"
[types.StackEnd.values]
Complete = { value = 1, doc = "it reached the first function of the thread" }
NoFramePointer = { value = 2, doc = "a function has no frame pointer, so that its callers are unknown" }
Limit = { value = 3, doc = "there are more than 64 functions" }
Corrupt = { value = 4, doc = "a frame leads to a place that is none" }

[[event]]
name = "ControlChange"
code = 0x0001
kind = "Control"
doc = "Switches of events were changed"
params = [
{ name = "mask", sort = "ControlMask", doc = "which switch" },
{ name = "action", sort = "ControlAction", doc = "set or reset" },
{ name = "words", sort = "string", max = 4096, doc = "the events, in the words of control" },
]

[[event]]
name = "Intern"
code = 0x0002
kind = "Label"
doc = "A string got a number, which stands for it from then on in the session"
params = [
{ name = "label", sort = "label", doc = "the number" },
{ name = "string", sort = "string", max = 4096, names = "label", doc = "the string" },
]

[[event]]
name = "LabelAddress"
code = 0x0003
kind = "Label"
doc = "An address got a name, for as long as it gets no other"
params = [
{ name = "address", sort = "addr", doc = "the address" },
{ name = "label", sort = "label", names = "address", doc = "the number of its name" },
]

[[event]]
name = "MessagesDropped"
code = 0x0004
kind = "Message"
doc = "The program does not hear of something that it wants to hear of"
params = [
{ name = "registry", sort = "string", max = 64, doc = "the registry of the message" },
{ name = "message", sort = "string", max = 64, doc = "its name" },
{ name = "why", sort = "MessageDrop", doc = "what was in the way" },
{ name = "dropped", sort = "word", doc = "how many of the message were dropped so far" },
]

[[event]]
name = "Mark"
code = 0x0005
kind = "Program"
doc = "The program, or someone who watches it, marked a moment"
params = [
{ name = "text", sort = "label", doc = "what happened" },
]

[[event]]
name = "Panicked"
code = 0x0006
kind = "Program"
doc = "A thread of the program panicked"
params = [
{ name = "message", sort = "string", doc = "the message, or as much of it as fits" },
{ name = "file", sort = "string", max = 512, doc = "the source file" },
{ name = "line", sort = "u32", doc = "the line of the source file" },
]

[[event]]
name = "Exited"
code = 0x0007
kind = "Program"
doc = "The program ended with a status other than 0"
params = [
{ name = "status", sort = "i32", doc = "the status" },
]

[[event]]
name = "Process"
code = 0x0008
kind = "Usage"
doc = "What the process uses, and how telemetry itself fares"
params = [
{ name = "resident", sort = "u64", unit = "bytes", counter = true, doc = "memory that is resident" },
{ name = "user", sort = "u64", unit = "ns", counter = true, doc = "processor time in the program so far" },
{ name = "system", sort = "u64", unit = "ns", counter = true, doc = "processor time in the system so far" },
{ name = "minor_faults", sort = "u64", counter = true, doc = "page faults without input or output so far" },
{ name = "major_faults", sort = "u64", counter = true, doc = "page faults with input or output so far" },
{ name = "waits", sort = "u64", counter = true, doc = "context switches of threads that waited so far" },
{ name = "preemptions", sort = "u64", counter = true, doc = "context switches of threads that could run so far" },
{ name = "pool", sort = "u64", unit = "bytes", counter = true, doc = "memory of the pool in use" },
{ name = "lost", sort = "u64", counter = true, doc = "events that telemetry lost so far" },
]

[[event]]
name = "Signaled"
code = 0x0009
kind = "Program"
doc = "A thread got a signal that usually ends the program"
params = [
{ name = "signal", sort = "Signal", doc = "which signal" },
{ name = "code", sort = "i32", doc = "the cause, as the system's `si_code`; 0 or less if it was sent" },
{ name = "address", sort = "addr", doc = "the address of the access or the instruction, 0 if the signal was sent" },
]

[[event]]
name = "Sampled"
code = 0x000a
kind = "Sample"
doc = "A timer of the thread expired"
params = [
{ name = "stack", sort = "u32", role = "stack", doc = "what the thread did; 0 if stacks are not wanted" },
{ name = "periods", sort = "u32", doc = "how often the timer has expired since the last sample: 1, and those that were missed" },
]

[[event]]
name = "EventsLeftOut"
code = 0x000b
kind = "Control"
doc = "A limit or a sample of the registry left out events"
params = [
{ name = "registry", sort = "string", max = 64, doc = "the registry of the events" },
{ name = "event", sort = "string", max = 64, doc = "their name" },
{ name = "thread", sort = "u64", doc = "the system's number of the thread; 0 for threads that could not be told apart" },
{ name = "left_out", sort = "u64", doc = "how many the thread has left out since that was last told" },
{ name = "so_far", sort = "u64", doc = "how many the process has left out so far" },
]

[[event]]
name = "Stack"
code = 0x0010
kind = "Label"
doc = "A call stack got a number, which stands for it from then on in the session"
params = [
{ name = "number", sort = "u32", doc = "the number" },
{ name = "end", sort = "StackEnd", doc = "why it ends where it does" },
{ name = "frames", sort = "[addr]", doc = "where the code is: in the function that emits, then where each calling function goes on" },
]

[[event]]
name = "Module"
code = 0x0011
kind = "Label"
doc = "A file of code that is mapped into the process"
params = [
{ name = "base", sort = "addr", doc = "where its first byte is" },
{ name = "end", sort = "addr", doc = "the address after its last mapping" },
{ name = "build_id", sort = "bytes", max = 64, doc = "the build ID that the linker gave it; empty without one" },
{ name = "path", sort = "string", doc = "the file" },
]
"""
