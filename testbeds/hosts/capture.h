/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in pcap files, the format of tcpdump. The switch writes these files, which tcpdump
 * displays and the test program spray sends again. */
#ifndef NETHOSTS_CAPTURE_H
#define NETHOSTS_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "testbeds/hosts/frame.h"

struct capture {
    FILE *file; /* NULL: no file is open */
};

/* Creates a file. Returns false and sets errno on failure. */
bool capture_open(struct capture *capture, const char *path);

/* Writes a complete frame, if a file is open. */
void capture_put(struct capture *capture, const struct frame *frame);

void capture_close(struct capture *capture);

/* Opens a file for reading. Returns false and sets errno on failure, or if it is not a pcap
 * file. */
bool capture_read(struct capture *capture, const char *path);

/* Reads the next frame into memory for FRAME_MOST bytes. Returns false at the end. */
bool capture_take(struct capture *capture, struct frame *frame);

#endif
