/* Calls that compile in C++ without a cast: the type itself, a smaller one, and constants that fit. */
#include <atomic>
#include <string>
#include <vector>

#include "hard.h"

struct Part {
    static const int COUNT = 3;
    unsigned bits : 3;
    uint32_t number;
    std::atomic<uint32_t> shared;

    void f(const std::string &text) {
        hard_step(text.data(), text.size(), number);
        hard_step(text.c_str(), std::string("b").length(), this->bits);
        hard_step("a", COUNT, shared.load());
    }
};

template <class T, int N> void each(T value, const std::vector<T> &all) {
    hard_step("a", all.size(), value);
    for (auto one : all) hard_step("a", sizeof one, one);
    hard_step("a", N, N);
}

void f(uint32_t number, uint16_t small, unsigned char *bytes, telemetry_label_t label, float part,
       const uint32_t (&pair)[2], void *const *stack, const uint32_t &same, uint32_t &&other) {
    const int constant = 7;
    static uint32_t counter;
    hard_step("a", 1, number);
    hard_step("a", sizeof(int), constant);
    hard_step("a", 1u, bytes[1]);
    hard_step("a", 1L, small);
    hard_step("a", 'a', same);
    hard_step(nullptr, 0, other++);
    hard_step(nullptr, 0, counter += 2);
    hard_step(nullptr, 0, counter ? number : small);
    hard_step(nullptr, 0, 0xffffffff);
    hard_signal(-1);
    hard_signal(small);
    number ? hard_signal(1) : hard_signal(constant);
    auto later = [&] { hard_step("a", sizeof number, number); };
    auto copied = [number] { hard_step("a", 1, number); };
    later(), copied();
    each<uint32_t, 5>(1, {2});
    each<uint16_t, 5>(1, {2});
    hard_given(bytes, 16, HARD_WHY_FULL, HARD_MODE_READ, true, part, label, bytes, 1, pair, stack, 1, nullptr, 0);
    hard_given(&label, sizeof label, HARD_WHY_FULL, HARD_MODE_READ | HARD_MODE_WRITE, false, 0.5, label, "", 0, pair,
               nullptr, 0, nullptr, 0);
}
