/* SPDX-License-Identifier: BSD-3-Clause */
/* See hello.h. */
#include "coll_nicbarr/hello.h"

#include <string.h>

/* An encoded hello consists of this header, the public key if there is one, the names of the
 * existing NICs, each with its addresses, and the reason why there is no segment or no NIC. */
struct head {
    uint32_t format; /* NICBARR_HELLO_FORMAT; like all fields, in the sender's byte order */
    uint32_t number;
    uint64_t identity, digest;
    uint8_t there; /* bit n: NIC n is present; bit 0: the public key */
    uint8_t later;
    uint16_t why; /* length of the reason, bytes */
};

_Static_assert(NICBARR_NICS_MOST <= 8 && sizeof(struct head) <= 32, "the head of a hello");

enum { NAME_HEAD = offsetof(struct myr_nic_name, address) };

static size_t name_bytes(const struct myr_nic_name *name)
{
    return NAME_HEAD + name->count * sizeof(name->address[0]);
}

/* Decode a name at the beginning of `count` bytes. Returns its length, or 0 if it is not a name. */
static size_t read_name(const uint8_t *bytes, size_t count, struct myr_nic_name *name)
{
    if (count < NAME_HEAD) {
        return 0;
    }
    memcpy(name, bytes, NAME_HEAD);
    if (0 == name->key || name->count > MYR_NIC_ADDRESSES || count < name_bytes(name)) {
        return 0;
    }
    memcpy(name, bytes, name_bytes(name));
    return name_bytes(name);
}

size_t nicbarr_hello_write(const struct nicbarr_hello *hello, uint8_t *bytes)
{
    struct head head = {
        .format = NICBARR_HELLO_FORMAT,
        .identity = hello->identity,
        .digest = hello->digest,
        .number = hello->number,
        .later = hello->later,
        .why = (uint16_t)strlen(hello->why),
    };
    uint8_t *end = bytes + sizeof(head);
    if (myr_has_key(&hello->key)) {
        head.there |= 1;
        memcpy(end, &hello->key, sizeof(hello->key));
        end += sizeof(hello->key);
    }
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        if (0 != hello->nic[nic].key) {
            head.there |= (uint8_t)(1U << nic);
            memcpy(end, &hello->nic[nic], name_bytes(&hello->nic[nic]));
            end += name_bytes(&hello->nic[nic]);
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
    const size_t key_bytes = 0 != (head.there & 1) ? sizeof(hello->key) : 0;
    if (NICBARR_HELLO_FORMAT != head.format || 0 != head.there >> NICBARR_NICS_MOST ||
        head.why >= sizeof(hello->why) || count < sizeof(head) + key_bytes + head.why) {
        return false;
    }
    *hello = (struct nicbarr_hello){.identity = head.identity,
                                    .digest = head.digest,
                                    .number = head.number,
                                    .later = head.later};
    const uint8_t *why = bytes + count - head.why;
    bytes += sizeof(head);
    memcpy(&hello->key, bytes, key_bytes);
    bytes += key_bytes;
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        if (0 != (head.there >> nic & 1)) {
            const size_t taken = read_name(bytes, (size_t)(why - bytes), &hello->nic[nic]);
            if (0 == taken) {
                return false;
            }
            bytes += taken;
        }
    }
    memcpy(hello->why, why, head.why);
    return why == bytes;
}
