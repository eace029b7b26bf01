/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in a file, in tcpdump's format (pcap). The switch writes them. spray reads them, to send
 * them once more. tcpdump shows them.
 */
#ifndef NETHOSTS_CAPTURE_H
#define NETHOSTS_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "testbeds/hosts/frame.h"

struct capture {
    FILE *file; /* NULL: nothing is written */
};

/* Make a file; false (and errno) if that cannot be. */
bool capture_open(struct capture *capture, const char *path);

/* Write a frame that is complete. Nothing is done if no file is open. */
void capture_put(struct capture *capture, const struct frame *frame);

void capture_close(struct capture *capture);

/* Open a file to read; false (and errno) if that cannot be, or is not one of ours. */
bool capture_read(struct capture *capture, const char *path);

/* The next frame, which has room for FRAME_MOST bytes; false at the end. */
bool capture_take(struct capture *capture, struct frame *frame);

#endif
