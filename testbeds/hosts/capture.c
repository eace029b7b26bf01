/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing and reading of pcap files; see capture.h. */
#include "testbeds/hosts/capture.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

enum { MAGIC = 0xa1b2c3d4, ETHERNET = 1 };

struct file_header {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t zone, accuracy, most_bytes, link;
};

struct frame_header {
    uint32_t seconds, microseconds, bytes, bytes_on_wire;
};

bool capture_open(struct capture *capture, const char *path)
{
    const struct file_header header = {
        .magic = MAGIC, .major = 2, .minor = 4, .most_bytes = FRAME_MOST, .link = ETHERNET};
    capture->file = fopen(path, "we");
    return NULL != capture->file && 1 == fwrite(&header, sizeof(header), 1, capture->file);
}

void capture_put(struct capture *capture, const struct frame *frame)
{
    if (NULL == capture->file) {
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct frame_header header = {(uint32_t)now.tv_sec, (uint32_t)(now.tv_nsec / 1000),
                                        (uint32_t)frame->count, (uint32_t)frame->count};
    fwrite(&header, sizeof(header), 1, capture->file);
    fwrite(frame->bytes, frame->count, 1, capture->file);
}

void capture_close(struct capture *capture)
{
    if (NULL != capture->file) {
        fclose(capture->file);
        capture->file = NULL;
    }
}

bool capture_read(struct capture *capture, const char *path)
{
    struct file_header header;
    capture->file = fopen(path, "re");
    if (NULL == capture->file) {
        return false;
    }
    if (1 != fread(&header, sizeof(header), 1, capture->file) || MAGIC != header.magic ||
        ETHERNET != header.link) {
        capture_close(capture);
        errno = EINVAL;
        return false;
    }
    return true;
}

bool capture_take(struct capture *capture, struct frame *frame)
{
    struct frame_header header;
    if (1 != fread(&header, sizeof(header), 1, capture->file) || header.bytes > FRAME_MOST ||
        1 != fread(frame->bytes, header.bytes, 1, capture->file)) {
        return false;
    }
    frame->offload = (struct virtio_net_hdr){.flags = 0};
    frame->count = header.bytes;
    return true;
}
