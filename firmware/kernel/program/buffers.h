/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Accesses the buffers of groups that carry data, which hosts may map, and the payload buffer of
 * this CPU. */
#ifndef MCP_PROGRAM_BUFFERS_H
#define MCP_PROGRAM_BUFFERS_H

#include "firmware/kernel/program/packets.h"

/* Returns the group's buffer, or NULL. */
static __always_inline struct mcp_kernel_buffer *buffer_at(uint32_t index)
{
    const uint32_t zero = 0;
    void *buffer = bpf_map_lookup_elem(&buffers, &index);
    return buffer ? bpf_map_lookup_elem(buffer, &zero) : NULL;
}

enum { BUFFER_WORDS = sizeof(struct mcp_kernel_buffer) / 8, LINE_WORDS = 8 };

static __always_inline uint64_t *word_at(struct mcp_kernel_buffer *buffer, uint32_t word)
{
    return &buffer->word[0][0] + word % BUFFER_WORDS;
}

/* Returns the cache line that begins with this word. The bounds are checked once for the whole
 * line, because checking each word would take longer than copying it. */
static __always_inline uint64_t *line_of_words(struct mcp_kernel_buffer *buffer, uint32_t word)
{
    const uint32_t index = word % BUFFER_WORDS, last = BUFFER_WORDS - LINE_WORDS;
    return &buffer->word[0][0] + (index < last ? index : last);
}

static __always_inline void copy_line(uint64_t *to, const uint64_t *from)
{
    for (uint32_t w = 0; w < LINE_WORDS; ++w) {
        to[w] = from[w];
    }
}

/* Returns the word at which an epoch's data begin. */
static __always_inline uint32_t epoch_word(uint32_t epoch)
{
    return epoch % 2 * (MCP_KERNEL_BUFFER / 8);
}

/* Copies from this CPU's payload buffer into the group's buffer, from word `first` on. The caller
 * holds the group's lock. While it is held, the buffer belongs to the group, because the owner
 * removes the key of a closed group, under the lock, before it reassigns the buffer. */
static __always_inline void store_payload(struct mcp_kernel_buffer *buffer, uint32_t first,
                                          const struct payload *payload, uint32_t bytes)
{
    const uint32_t words = bytes / 8;
    uint32_t w = 0;
    for (; w + LINE_WORDS <= PAYLOAD_WORDS && w + LINE_WORDS <= words; w += LINE_WORDS) {
        copy_line(line_of_words(buffer, first + w), &payload->word[w]);
    }
    for (; w < PAYLOAD_WORDS && w < words; ++w) {
        *word_at(buffer, first + w) = payload->word[w];
    }
}

/* Copies the payload of a message from the group's buffer, from word `first` on, into this CPU's
 * payload buffer. The group's buffer may change meanwhile if another CPU completes further epochs.
 * In this case no peer misses the message any more, and receivers drop it as a duplicate. The
 * message is sealed after the copy, so it is authentic in any case. */
__attribute__((noinline)) int mcp_fetch(struct payload *payload, struct mcp_kernel_buffer *buffer,
                                        uint32_t first, uint32_t words)
{
    if (!payload || !buffer) {
        return 0;
    }
    uint32_t w = 0;
    for (; w + LINE_WORDS <= PAYLOAD_WORDS && w + LINE_WORDS <= words; w += LINE_WORDS) {
        copy_line(&payload->word[w], line_of_words(buffer, first + w));
    }
    for (; w < PAYLOAD_WORDS && w < words; ++w) {
        payload->word[w] = *word_at(buffer, first + w);
    }
    return 1;
}

#endif
