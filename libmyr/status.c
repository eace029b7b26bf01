/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats all error messages; see status.h. */
#include "libmyr/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void myr_write_error(struct myr_error *error, enum myr_status status, int err, const char *format,
                     ...)
{
    const int kept = errno;
    if (NULL != error) {
        va_list arguments;
        va_start(arguments, format);
        const int used = vsnprintf(error->text, sizeof(error->text), format, arguments);
        va_end(arguments);
        error->status = status;
        if (0 != err && used >= 0 && (size_t)used < sizeof(error->text)) {
            snprintf(error->text + used, sizeof(error->text) - (size_t)used, ": %s", strerror(err));
        }
    }
    errno = kept;
}
