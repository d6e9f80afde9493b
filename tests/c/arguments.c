/* Arguments of every form, good and bad, and all functions of telemetry.h. Ends with 0 if each
 * function does what its comment says. The stream is compared with arguments.txt. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hard.h"
#include "telemetry.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

static int evaluated;

static uint32_t counted(uint32_t number) {
    evaluated++;
    return number;
}

int main(void) {
    static int object;
    static void *const stack[] = {0, 0, 0, 0, 0};
    static const uint32_t pair[] = {7, 8};
    static const uint8_t whys[] = {HARD_WHY_FULL, HARD_WHY_ASKED, HARD_WHY_FULL, HARD_WHY_FULL};
    const telemetry_label_t none = {0};
    char text[256];

    /* The name of a message is known before the first event. */
    CHECK(telemetry_message_enable("hard:Given") == 0);
    CHECK(telemetry_message_enable("hard:Missing") == ENOENT);

    CHECK(telemetry_reset("all") == 0);
    /* The first event of a registry starts the runtime, on or off. */
    hard_step("first", 5, 1);
    hard_step("off", 3, counted(1));
    CHECK(evaluated == 0);
    CHECK(telemetry_set(NULL) == EINVAL);
    CHECK(telemetry_set("hard:all") == 0);
    CHECK(telemetry_get(text, sizeof text) == strlen("hard:all") && strcmp(text, "hard:all") == 0);
    CHECK(telemetry_get(text, 5) == strlen("hard:all") && strcmp(text, "hard") == 0);
    CHECK(telemetry_get(NULL, 0) == strlen("hard:all"));
    CHECK(telemetry_record_set("all") == 0 && telemetry_record_get(text, sizeof text) == 3);
    CHECK(telemetry_record_reset("all") == 0 && telemetry_record_get(text, sizeof text) == 0);
    hard_step("on", 2, counted(1));
    CHECK(evaluated == 1);

    telemetry_label_t label = telemetry_intern("a label", 7);
    CHECK(label.number != 0 && telemetry_intern("a label!", 7).number == label.number);
    CHECK(telemetry_intern(NULL, 7).number == 0 && telemetry_intern("", (size_t)-1).number == 0);
    hard_given(&object, sizeof object, HARD_WHY_FULL, HARD_MODE_READ | HARD_MODE_WRITE, true, 0.5, label, "raw", 3,
        pair, stack, 2, whys, 2);
    /* Truncated: a length beyond the limit, of each list. */
    hard_given(NULL, 0, HARD_WHY_ASKED, 0, false, 0, none, "raw and more", 12, pair, stack, 5, whys, 4);
    /* Null. */
    hard_given(NULL, 0, HARD_WHY_ASKED, 0, false, 0, none, NULL, 3, NULL, NULL, 3, NULL, 3);
    /* Null without elements, which is a list. */
    hard_given(NULL, 0, HARD_WHY_ASKED, 0, false, 0, none, NULL, 0, pair, NULL, 0, NULL, 0);
    /* No list has so many elements. */
    hard_given(NULL, 0, HARD_WHY_ASKED, 0, false, 0, none, "raw", (size_t)-3, pair, stack, (size_t)-1, whys,
        (size_t)-1);
    /* No value of the enum, and a label that stands for nothing. */
    const telemetry_label_t unknown = {12345};
    hard_given(NULL, 0, (hard_why)77, 0, false, 0, unknown, "", 0, pair, stack, 0, whys, 0);
    hard_step("longer than sixteen", 19, 2);
    hard_step("not UTF-8 \xff", 11, 3);
    hard_step(NULL, 5, 4);
    hard_step("sixteen bytes of this", (size_t)1 << 62, 5);

    CHECK(telemetry_message_queued("Given") == 5);
    telemetry_message *message = telemetry_message_get("Given");
    uint64_t value = 0;
    double real = 0;
    const char *bytes = NULL;
    size_t length = 0;
    CHECK(message && !telemetry_message_is_end(message) && telemetry_message_ticks(message) > 0);
    CHECK(telemetry_message_integer(message, "size", 0, &value) == 0 && value == sizeof object);
    CHECK(telemetry_message_integer(message, "whys", 1, &value) == 0 && value == HARD_WHY_ASKED);
    CHECK(telemetry_message_real(message, "part", 0, &real) == 0 && real > 0.4 && real < 0.6);
    CHECK(telemetry_message_text(message, "raw", &bytes, &length) == 0 && length == 3);
    CHECK(telemetry_message_count(message, "whys") == 2);
    telemetry_message_free(message);
    CHECK(telemetry_message_dropped("Given") == 0 && telemetry_message_disable("Given") == 0);

    CHECK(telemetry_traceback(1, NULL, 0) > 20 && telemetry_traceback(1, text, sizeof text) > 20);
    CHECK(strstr(text, "sixteen bytes of") != NULL);
    telemetry_label(&object, label);
    telemetry_mark("a mark", 6);
    telemetry_mark(NULL, 6);
    CHECK(telemetry_trigger_add("jump", text, sizeof text) == 0 && strstr(text, "found `jump`") != NULL);
    CHECK(telemetry_trigger_add(NULL, NULL, 0) == 0 && telemetry_trigger_remove(77) == EINVAL);
    CHECK(telemetry_trigger_remove(telemetry_trigger_add("signal USR1: flush", NULL, 0)) == 0);
    CHECK(telemetry_snapshot(NULL) == EINVAL && telemetry_snapshot("no/such/file") == ENOENT);
    CHECK(telemetry_snapshot("snapshot.tel") == 0 && telemetry_dump("dump.tel") == 0);
    telemetry_flush();
    return 0;
}
