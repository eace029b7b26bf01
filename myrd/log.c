/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's log; see log.h. */
#include "firmware/soft/addresses.h"
#include "myrd/log.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 512, WHERE_BYTES = MYR_NIC_ADDRESSES * (MCP_NETWORK_TEXT + 16) };

static bool to_journal;

/* systemd announces the device and inode of the journal's stream in an environment variable. They
 * are compared with those of stderr, because a process whose stderr was redirected inherits the
 * variable as well. */
void myrd_log_begin(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat about;
    uint64_t device, file;
    to_journal = NULL != stream && 2 == sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &file) &&
                 0 == fstat(STDERR_FILENO, &about) && device == about.st_dev &&
                 file == about.st_ino;
}

/* Each line is written by a single write, so that lines of several processes do not mix. In the
 * journal the line does not begin with the program's name, because the journal adds it. */
void myrd_log(enum myrd_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    const int begin = to_journal ? snprintf(line, sizeof(line), "<%d>", (int)level)
                                 : snprintf(line, sizeof(line), "myrd: ");
    va_start(arguments, format);
    vsnprintf(line + begin, sizeof(line) - (size_t)begin - 1, format, arguments);
    va_end(arguments);
    const size_t length = strlen(line);
    line[length] = '\n'; /* replaces the 0; LINE_BYTES includes space for it */
    (void)!write(STDERR_FILENO, line, length + 1);
}

void myrd_log_serves(const char *what, const struct myr_nic_name *name,
                     const struct myrd_listener *listener)
{
    char where[WHERE_BYTES] = "", text[MCP_NETWORK_TEXT];
    size_t length = 0;
    for (uint32_t a = 0; a < name->count && length < sizeof(where); ++a) {
        length += (size_t)snprintf(
            where + length, sizeof(where) - length, "%s%s port %u", 0 == a ? "" : ", ",
            mcp_network_text(&name->address[a].ip, name->address[a].prefix, text),
            (unsigned)ntohs(name->address[a].port));
    }
    myrd_log(MYRD_NOTICE, "%s at %s; jobs find it by %s", what, where, listener->address.sun_path);
}

static bool is_power_of_ten(uint64_t number)
{
    while (0 != number && 0 == number % 10) {
        number /= 10;
    }
    return 1 == number;
}

/* Messages to clients begin with the daemon's name, which is omitted here because the log has it
 * already. */
void myrd_log_refusal(const struct myrd_visitor *visitor, const char *why, uint64_t count)
{
    static const char who[] = "myrd ";
    if (is_power_of_ten(count)) {
        myrd_log(MYRD_WARNING, "%s (process %d of user %u; refusal number %" PRIu64 ")",
                 0 == strncmp(why, who, strlen(who)) ? why + strlen(who) : why, (int)visitor->pid,
                 (unsigned)visitor->uid, count);
    }
}
