/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The elements of one message in its layout: written before it is sent, and compared after it has
 * arrived. The messages, the exchanges and the windows of a program use it.
 *
 * Sender and receiver compute the same elements from a key.
 */
#ifndef NICBARR_TESTS_PAYLOAD_H
#define NICBARR_TESTS_PAYLOAD_H

#include "layout.h"

/* Writes the first n elements; n is at most the layout's number of elements. */
void payload_put(struct layout *layout, uint64_t key, size_t n);

/* Fails unless the layout contains these n elements, and its pattern everywhere else. Elements
 * from `exact` on may have any content, because a message has been truncated. `from` is the
 * sender, and `line` the step's line. Overwrites the elements. */
void payload_check(struct layout *layout, uint64_t key, size_t n, size_t exact, const char *where,
                   int line, int from);

#endif
