/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the input of a fuzzer as a sequence of steps; all fuzzers include it, and check their
 * invariants after each step.
 *
 * libFuzzer calls LLVMFuzzerTestOneInput() with arbitrary bytes. Invariant: reading beyond the end
 * of an input yields zeros. Therefore each prefix of an input is an input, and libFuzzer can cut
 * and splice inputs.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Abort on a violated invariant; libFuzzer then prints and keeps the input that has failed. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: fails: %s\n", __FILE__, __LINE__, #condition);                 \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct input {
    const uint8_t *bytes;
    size_t left;
};

static inline uint8_t take_byte(struct input *in)
{
    if (0 == in->left) {
        return 0;
    }
    --in->left;
    return *in->bytes++;
}

static inline uint32_t take_below(struct input *in, uint32_t end)
{
    return take_byte(in) % end;
}

/* Returns a number that is usually small: a byte represents -8 to 7, or a power of two with
 * either sign. */
static inline uint32_t take_step(struct input *in)
{
    const uint8_t byte = take_byte(in);
    const uint32_t power = UINT32_C(1) << (byte >> 2 & 31);
    if (0 == (byte & 0x80)) {
        return (uint32_t)(byte & 15) - (0 != (byte & 16) ? 16 : 0);
    }
    return 0 != (byte & 1) ? power : 0u - power;
}

/* Copy up to `room` bytes of the input, or as many as are left. Returns their number. */
static inline size_t take_bytes(struct input *in, void *to, size_t room)
{
    const size_t count = room < in->left ? room : in->left;
    if (0 != count) {
        memcpy(to, in->bytes, count);
    }
    in->bytes += count;
    in->left -= count;
    return count;
}

/* Called by libFuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
