/* SPDX-License-Identifier: BSD-3-Clause */
/* The elements of one message; see payload.h. */
#include "payload.h"
#include "../mpi/common.h"

#include <stdlib.h>
#include <string.h>

void payload_put(struct layout *layout, uint64_t key, size_t n)
{
    const struct data_values values = {.type = layout->of, .op = DATA_COPY, .key = key};
    for (size_t i = 0; i < n; i++)
        data_put(&values, 0, i, layout_at(layout, 0, i));
}

void payload_check(struct layout *layout, uint64_t key, size_t n, size_t exact, const char *where,
                   int line, int from)
{
    unsigned char *got = layout_copy(layout);
    layout_clear(layout);
    payload_put(layout, key, n);
    for (size_t i = exact; i < n; i++) {
        unsigned char *at = layout_at(layout, 0, i);
        memcpy(at, layout_at_copy(layout, got, at), layout->of->extent);
    }
    long wrong = layout_difference(layout, got);
    TEST_CHECK(wrong < 0, where, "line %d: byte %ld of a message of %zu elements from %d", line,
               wrong, n, from);
    free(got);
}
