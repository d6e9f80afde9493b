// Events in hard places: before and after main, in a signal handler, in a forked child, in a thread,
// and in a library that is loaded by dlopen.
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "hard.h"
#include "telemetry.h"

namespace {

struct Static {
    Static() { hard_step("before main", 11, 1); }
    ~Static() { hard_step("after main", 10, 9); }
} in_static;

void on_signal(int number) { hard_signal(number); }

} // namespace

__attribute__((constructor)) static void construct() { hard_step("constructor", 11, 0); }

int main(int, char **arguments) {
    hard_step("main", 4, 2);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    std::thread([] { hard_step("thread", 6, 3); }).join();
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        return 2;
    }
    reinterpret_cast<void (*)()>(dlsym(library, "plugin"))();
    dlclose(library);
    pid_t child = fork();
    if (child == 0) {
        hard_step("child", 5, 5);
        hard_given(nullptr, 1u, HARD_WHY_FULL, HARD_MODE_READ | HARD_MODE_WRITE, true, 1.5, telemetry_intern("x", 1),
                   "", 0, nullptr, nullptr, 0, nullptr, 0);
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status;
}
