# Commands of telemetry for gdb, printed by `telemetry gdb`. Needs a gdb with Python.
python
import gdb


class _Setting:
    """A setting of gdb for the time of a call."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __enter__(self):
        self.before = gdb.parameter(self.name)
        gdb.execute(f"set {self.name} {self.value}", to_string=True)

    def __exit__(self, *_):
        before = self.before
        text = {True: "on", False: "off"}.get(before, before) if isinstance(before, bool) else before
        gdb.execute(f"set {self.name} {text}", to_string=True)


class _Room:
    """Bytes on the thread's stack for the time of a call: the program's allocator may be locked."""

    def __init__(self, content, size):
        self.content, self.size = content, size

    def __enter__(self):
        self.level = 0
        frame = gdb.selected_frame()
        while frame.newer() is not None:
            frame, self.level = frame.newer(), self.level + 1
        gdb.newest_frame().select()
        self.sp = int(gdb.parse_and_eval("(unsigned long) $sp"))
        # Beyond what functions may use below their stack pointer.
        self.at = (self.sp - 512 - self.size) & ~255
        gdb.selected_inferior().write_memory(self.at, self.content)
        gdb.execute(f"set var $sp = {self.at}", to_string=True)
        return self

    def read(self):
        return gdb.selected_inferior().read_memory(self.at, self.size).tobytes()

    def __exit__(self, *_):
        try:
            gdb.newest_frame().select()
            gdb.execute(f"set var $sp = {self.sp}", to_string=True)
            frame = gdb.newest_frame()
            for _ in range(self.level):
                frame = frame.older()
            frame.select()
        except gdb.error:
            # The process is gone.
            pass


def _call(name, result="int", content=None, size=0, number=None, alone=False):
    """Calls a function of the runtime with a text, room for one, or a number; what it returns, and the room."""
    if gdb.selected_thread() is None:
        raise gdb.GdbError("no running process; help: for a core dump: telemetry recover CORE")
    # In C, whatever the frame is in. Other threads run only if the function may wait for them.
    settings = [
        _Setting("language", "c"),
        _Setting("unwindonsignal", "on"),
        _Setting("scheduler-locking", "on" if alone else "off"),
    ]
    try:
        with settings[0]:
            try:
                at = int(gdb.parse_and_eval(f"(unsigned long) &{name}"))
            except gdb.error:
                raise gdb.GdbError(
                    f"no function {name} in the program; help: it must link telemetry and have its symbols")
            with settings[1], settings[2]:
                if content is None and not size:
                    types, values = ("int", str(number)) if number is not None else ("void", "")
                    return gdb.parse_and_eval(f"(({result} (*)({types})) {at})({values})"), None
                content = content or b"\0"
                with _Room(content, size or len(content)) as room:
                    types, values = ("char *, unsigned long", f"{room.at}, {size}") if size else \
                        ("char *", str(room.at))
                    value = gdb.parse_and_eval(f"(({result} (*)({types})) {at})({values})")
                    return value, room.read()
    except gdb.error as error:
        raise gdb.GdbError(f"{name}: {error}")


def _check(name, value):
    """Fails if a function returned the number of an error."""
    import os
    if int(value) != 0:
        raise gdb.GdbError(f"{name}: {os.strerror(int(value))} (error {int(value)})")


def _text(argument, what):
    if not argument.strip():
        raise gdb.GdbError(f"nothing given, expected {what}")
    return argument.strip().encode() + b"\0"


class _Telemetry(gdb.Command):
    """Ask and switch the telemetry of the process."""

    def __init__(self):
        super().__init__("telemetry", gdb.COMMAND_USER, prefix=True)


class _Set(gdb.Command):
    """Switch on what words name: telemetry set WORD...
Kinds, events, `registry:word`, `all`; a leading `-` takes away."""

    def __init__(self):
        super().__init__("telemetry set", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        _check("telemetry_set", _call("telemetry_set", content=_text(argument, "words"))[0])


class _Reset(gdb.Command):
    """Switch off what words name: telemetry reset WORD..."""

    def __init__(self):
        super().__init__("telemetry reset", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        _check("telemetry_reset", _call("telemetry_reset", content=_text(argument, "words"))[0])


class _Get(gdb.Command):
    """Show the words that say what is output: telemetry get"""

    def __init__(self):
        super().__init__("telemetry get", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        _, room = _call("telemetry_get", result="unsigned long", size=8192)
        print(room.split(b"\0")[0].decode(errors="replace") or "nothing")


class _Flush(gdb.Command):
    """Write what all threads have recorded to the sinks: telemetry flush"""

    def __init__(self):
        super().__init__("telemetry flush", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        _call("telemetry_flush", result="void")


class _Last(gdb.Command):
    """Print the last events of all threads to the process's standard error: telemetry last [NUMBER]
Twenty events by default, at most 256. The other threads stand still."""

    def __init__(self):
        super().__init__("telemetry last", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        number = argument.strip() or "20"
        if not number.isdecimal():
            raise gdb.GdbError(f"`{number}`, expected a number of events")
        _call("telemetry_describe_last", result="void", number=min(int(number), 256), alone=True)


class _Dump(gdb.Command):
    """Write all events in memory to a stream: telemetry dump FILE
The file is made anew, relative to the process's directory. The other threads stand still."""

    def __init__(self):
        super().__init__("telemetry dump", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        path = _text(argument, "a file")
        _check("telemetry_dump", _call("telemetry_dump", content=path, alone=True)[0])


for _command in (_Telemetry, _Set, _Reset, _Get, _Flush, _Last, _Dump):
    _command()
end
