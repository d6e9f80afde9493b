/* Counters from C: of the process and of threads. Ends with 0 if the values are right. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "counts.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            return 1; \
        } \
    } while (0)

enum { THREADS = 4, ROUNDS = 10000 };

static void *count(void *unused) {
    int round;
    for (round = 0; round < ROUNDS; round++) {
        counts_hits_add(2);
        counts_used_add(10);
        counts_used_add(-3);
        counts_depth_add(1);
    }
    return counts_depth_value() == ROUNDS ? unused : NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    void *result;
    int number;
    counts_used_set(1000);
    counts_depth_set(-1);
    for (number = 0; number < THREADS; number++) {
        CHECK(pthread_create(&threads[number], NULL, count, &number) == 0);
    }
    for (number = 0; number < THREADS; number++) {
        CHECK(pthread_join(threads[number], &result) == 0 && result == &number);
    }
    CHECK(counts_hits_value() == 2 * THREADS * ROUNDS);
    CHECK(counts_used_value() == 1000 + 7 * THREADS * ROUNDS);
    CHECK(counts_depth_value() == -1);
    return 0;
}
