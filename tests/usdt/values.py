"""Run by gdb: prints the arguments of each probe that the program passes."""

import gdb


class Probe(gdb.Breakpoint):
    def __init__(self, name):
        super().__init__(f"-probe-stap probed:{name}")
        self.probe = name

    def stop(self):
        count = int(gdb.parse_and_eval("$_probe_argc"))
        values = [int(gdb.parse_and_eval(f"$_probe_arg{number}")) for number in range(count)]
        # Addresses of texts and lists differ from run to run.
        if self.probe == "runs":
            memory = gdb.selected_inferior().read_memory
            values[0:2] = [bytes(memory(values[0] % 2**64, values[1])).decode()]
            values[1:3] = [bytes(memory(values[1] % 2**64, values[2])).hex()]
            values[2:4] = [bytes(memory(values[2] % 2**64, values[3] * 2)).hex()]
        print("=", self.probe, *values)
        return False


gdb.execute("set pagination off")
for name in ["no_params", "unsigned", "signed", "runs", "too_many"]:
    Probe(name)
gdb.execute("run")
