/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of libmyr: a status, and one line that says what went wrong and what the user can do.
 *
 * The function that detects the error writes the line. Its callers pass it on unchanged. The one
 * that decides how to handle it prints it, once. */
#ifndef MYR_STATUS_H
#define MYR_STATUS_H

enum myr_status {
    MYR_OK = 0,
    MYR_ERR_SYSTEM,        /* a system call failed */
    MYR_ERR_NOT_THERE,     /* it does not exist, or something else is in its place */
    MYR_ERR_FOREIGN,       /* it exists, but in another version */
    MYR_ERR_FULL,          /* no memory or no free entry left */
    MYR_ERR_OUT_OF_MEMORY, /* malloc failed */
    MYR_ERR_UNREGISTERED,  /* a message's memory is not registered */
    MYR_ERR_TOO_LONG,      /* a message is longer than the buffer provided for it */
    MYR_ERR_GONE,          /* the other NIC cannot be reached any more */
    MYR_ERR_NOT_YET,       /* no answer so far: ask again later */
};

struct myr_error {
    enum myr_status status;
    char text[240];
};

/* Fill in `error` (may be NULL) and return `status`; errno, if not 0, is added in words. */
#define myr_fail(error, status, err, ...)                                                          \
    (myr_write_error((error), (status), (err), __VA_ARGS__), (status))

void myr_write_error(struct myr_error *error, enum myr_status status, int err, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

#endif
