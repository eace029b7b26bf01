/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of messages about network interfaces and their filters (rtnetlink(7)). Any thread may
 * call this. */
#ifndef OS_NETLINK_H
#define OS_NETLINK_H

#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/* Searches a list of netlink attributes, which begins at `attribute` and has `bytes` bytes, for an
 * attribute of this type. Returns NULL if there is none. An attribute that extends beyond the list
 * is ignored. */
static inline const struct rtattr *os_find_attribute(const struct rtattr *attribute, size_t bytes,
                                                     uint16_t type)
{
    int left = (int)bytes;
    while (RTA_OK(attribute, left)) {
        if (type == (attribute->rta_type & NLA_TYPE_MASK)) {
            return attribute;
        }
        attribute = RTA_NEXT(attribute, left);
    }
    return NULL;
}

#endif
