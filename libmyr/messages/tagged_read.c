/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads long messages from the memory of their senders, in chunks. A progress thread of the
 * receiver and the receiver itself can thus share the work, and neither waits for the other longer
 * than a chunk takes.
 *
 * A request is in the list `reads` as long as no thread has claimed its last chunk, and is done
 * when all of its chunks have been read. If the kernel refuses a read, the receiver asks the sender
 * to send the data instead. */
#include "libmyr/messages/tagged_inside.h"

void tagged_read_begin(struct myr_tagged *t, struct myr_tagged_request *request,
                       const struct myr_tagged_message *message)
{
    request->peer = message->peer;
    request->from = message->more.at;
    request->there = message->more.other;
    request->given = request->moved = 0;
    request->refused = false;
    tagged_append(&t->reads, request);
    myr_tagged_wake(t);
}

bool myr_tagged_has_chunks(const struct myr_tagged *t)
{
    return NULL != t->reads.first;
}

bool myr_tagged_chunk_take(struct myr_tagged *t, struct myr_tagged_chunk *chunk)
{
    struct myr_tagged_request *request = t->reads.first;
    if (NULL == request) {
        return false;
    }
    const uint64_t rest = request->wanted - request->given;
    chunk->request = request;
    chunk->at = request->given;
    chunk->bytes = rest < t->options.chunk_bytes ? rest : t->options.chunk_bytes;
    request->given += chunk->bytes;
    if (request->given == request->wanted) {
        (void)tagged_first(&t->reads);
    }
    return true;
}

bool myr_tagged_chunk_read(const struct myr_tagged_chunk *chunk)
{
    const struct myr_tagged_request *request = chunk->request;
    return myr_direct_read(request->peer->pid, request->buffer + chunk->at,
                           request->from + chunk->at, chunk->bytes);
}

void myr_tagged_chunk_end(struct myr_tagged *t, const struct myr_tagged_chunk *chunk, bool read)
{
    struct myr_tagged_request *request = chunk->request;
    request->refused = request->refused || !read;
    request->moved += chunk->bytes;
    if (request->moved < request->wanted) {
        return;
    }
    if (request->refused) {
        if (tagged_ask_for_data(t, request->peer, request, request->there)) {
            return;
        }
        request->status = MYR_ERR_OUT_OF_MEMORY;
    } else {
        const struct tagged_more done = {.there = request->there};
        if (!tagged_last_answer(t, request->peer, TAGGED_DONE, &done, request)) {
            return;
        }
    }
    tagged_append(&t->done, request);
}
