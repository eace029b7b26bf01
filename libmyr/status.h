/* SPDX-License-Identifier: BSD-3-Clause */
/* An error of libmyr consists of a status, and of a message that says what went wrong and what the
 * user can do.
 *
 * The function that detects the error writes the message, and its callers pass the message on
 * unchanged. The caller that decides how to handle the error prints the message once. */
#ifndef MYR_STATUS_H
#define MYR_STATUS_H

enum myr_status {
    MYR_OK = 0,
    MYR_ERR_SYSTEM,        /* a system call failed */
    MYR_ERR_NOT_THERE,     /* it does not exist, or something else is in its place */
    MYR_ERR_FOREIGN,       /* it exists, but in another version */
    MYR_ERR_FULL,          /* no memory or no free entry left */
    MYR_ERR_OUT_OF_MEMORY, /* malloc() failed */
    MYR_ERR_UNREGISTERED,  /* a message's memory is not registered */
    MYR_ERR_TOO_LONG,      /* a message is longer than the buffer provided for it */
    MYR_ERR_GONE,          /* the other NIC cannot be reached any more */
    MYR_ERR_NOT_YET,       /* no answer so far: try again later */
};

struct myr_error {
    enum myr_status status;
    char text[240];
};

/* Fills in `error` (may be NULL) and returns `status`; the description of errno is appended if
 * `err` is not 0. errno itself is preserved for the caller's caller. */
#define myr_fail(error, status, err, ...)                                                          \
    (myr_write_error((error), (status), (err), __VA_ARGS__), (status))

void myr_write_error(struct myr_error *error, enum myr_status status, int err, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

#endif
