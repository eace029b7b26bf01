/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process says of itself, as bytes; see hello.h. */
#include "coll_nicbarr/hello.h"

#include <string.h>

/* How they travel: this, then the names of the NICs that there are, then why there is none. */
struct head {
    uint64_t identity, digest;
    uint32_t index;
    uint8_t nics; /* bit n: NIC n is there */
    uint8_t later;
    uint16_t why; /* bytes */
};

_Static_assert(NICBARR_NICS_MOST <= 8 && sizeof(struct head) <= 32, "the head of a hello");

size_t nicbarr_hello_write(const struct nicbarr_hello *hello, uint8_t *bytes)
{
    struct head head = {
        .identity = hello->identity,
        .digest = hello->digest,
        .index = hello->index,
        .later = hello->later,
        .why = (uint16_t)strlen(hello->why),
    };
    uint8_t *end = bytes + sizeof(head);
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        if (0 != hello->nic[nic].key) {
            head.nics |= (uint8_t)(1U << nic);
            memcpy(end, &hello->nic[nic], sizeof(hello->nic[nic]));
            end += sizeof(hello->nic[nic]);
        }
    }
    memcpy(end, hello->why, head.why);
    memcpy(bytes, &head, sizeof(head));
    return (size_t)(end - bytes) + head.why;
}

bool nicbarr_hello_read(const uint8_t *bytes, size_t count, struct nicbarr_hello *hello)
{
    struct head head;
    if (count < sizeof(head)) {
        return false;
    }
    memcpy(&head, bytes, sizeof(head));
    const uint32_t names = (uint32_t)__builtin_popcount(head.nics);
    if (0 != head.nics >> NICBARR_NICS_MOST || head.why >= sizeof(hello->why) ||
        count != sizeof(head) + names * sizeof(hello->nic[0]) + head.why) {
        return false;
    }
    *hello = (struct nicbarr_hello){
        .identity = head.identity, .digest = head.digest, .index = head.index, .later = head.later};
    bytes += sizeof(head);
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        if (0 != (head.nics >> nic & 1)) {
            memcpy(&hello->nic[nic], bytes, sizeof(hello->nic[nic]));
            bytes += sizeof(hello->nic[nic]);
            if (0 == hello->nic[nic].key || hello->nic[nic].count > MYR_NIC_ADDRESSES) {
                return false;
            }
        }
    }
    memcpy(hello->why, bytes, head.why);
    return true;
}
