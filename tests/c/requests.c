/* Requests that a program in C answers. It asks itself through its control socket, in the directory of its
 * first argument. Ends with 0 if the answers are right. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "hard.h"
#include "telemetry.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

enum { ANSWER = 65536, PATIENCE = 60 };

/* Returns the text behind the word of the context, or a reason if there is no text. */
static int greet(void *context, const char *text, char *answer, size_t size) {
    if (size != ANSWER || answer[0] != 0 || answer[size - 1] != 0) { return 1; }
    if (text[0] == 0) {
        snprintf(answer, size, "nobody\nis there");
        return 1;
    }
    snprintf(answer, size, "%s %s", (const char *)context, text);
    return 0;
}

/* Leaves no NUL. */
static int fill(void *context, const char *text, char *answer, size_t size) {
    (void)text;
    memset(answer, *(const char *)context, size);
    return 0;
}

/* Asks, and writes the whole answer. Returns its length, or 0. */
static size_t ask(const char *path, const char *request, char *answer, size_t size) {
    struct sockaddr_un address = {0};
    struct timeval patience = {PATIENCE, 0};
    size_t length = 0;
    ssize_t got = 1;
    const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    address.sun_family = AF_UNIX;
    if (connection < 0 || strlen(path) >= sizeof address.sun_path) { return 0; }
    strcpy(address.sun_path, path);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0
        && write(connection, request, strlen(request)) == (ssize_t)strlen(request)) {
        while (got > 0 && length < size - 1) {
            got = read(connection, answer + length, size - 1 - length);
            length += got > 0 ? (size_t)got : 0;
        }
    }
    answer[length] = 0;
    close(connection);
    return length;
}

int main(int count, char **arguments) {
    static char answer[2 * ANSWER];
    static char hello[] = "hello", x[] = "x", wrong[] = "\xff";
    char path[256];
    const struct timespec moment = {0, 5000000};
    const time_t begin = time(NULL);
    CHECK(count == 2);
    CHECK(telemetry_on_request("greet", greet, x) == 0);
    CHECK(telemetry_on_request("greet", greet, hello) == 0);
    CHECK(telemetry_on_request("fill.x", fill, x) == 0 && telemetry_on_request("fill.wrong", fill, wrong) == 0);
    CHECK(telemetry_on_request(NULL, greet, NULL) == EINVAL && telemetry_on_request("no", NULL, NULL) == EINVAL);
    CHECK(telemetry_on_request("two words", greet, NULL) == EINVAL);
    CHECK(telemetry_on_request("\xff", greet, NULL) == EINVAL);
    hard_step("socket", 6, 1);

    snprintf(path, sizeof path, "%s/%ld", arguments[1], (long)getpid());
    while (ask(path, "ask greet big world\n", answer, sizeof answer) == 0) {
        CHECK(time(NULL) - begin < PATIENCE);
        nanosleep(&moment, NULL);
    }
    CHECK(strcmp(answer, "ok\nanswer = \"hello big world\"\n") == 0);
    ask(path, "ask greet\n", answer, sizeof answer);
    CHECK(strcmp(answer, "error: nobody is there\n") == 0);
    CHECK(ask(path, "ask fill.x\n", answer, sizeof answer) == strlen("ok\nanswer = \"\"\n") + ANSWER);
    /* Each of these bytes becomes a character of three. The answer has no more than the limit. */
    CHECK(ask(path, "ask fill.wrong\n", answer, sizeof answer) == strlen("ok\nanswer = \"\"\n") + ANSWER / 3 * 3);
    return 0;
}
