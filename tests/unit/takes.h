/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides by MPI's rules whether a receive matches a message: the reference for tests of matching.
 */
#ifndef TESTS_UNIT_TAKES_H
#define TESTS_UNIT_TAKES_H

#include "firmware/match.h"

static inline bool takes(const struct mcp_pattern *pattern, const struct mcp_envelope *envelope)
{
    const bool tag = 0 != (pattern->open & MCP_OPEN_TAG) ? 0 == envelope->tag >> MCP_HIDDEN_TAG_BIT
                                                         : pattern->envelope.tag == envelope->tag;
    return tag && pattern->envelope.context == envelope->context &&
           (0 != (pattern->open & MCP_OPEN_SOURCE) || pattern->envelope.source == envelope->source);
}

#endif
