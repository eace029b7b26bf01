/* SPDX-License-Identifier: BSD-3-Clause */
/* The client side of myrd, for the soft NIC; see nic_daemon.h. */
#include "libmyr/soft/nic_daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmyr/soft/daemon_words.h"
#include "libmyr/unix_talk.h"

bool myr_soft_daemon_path(char *path, size_t bytes)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    int length;
    if (NULL != runtime && '/' == *runtime) {
        length = snprintf(path, bytes, "%s/nicbarr/myrd.sock", runtime);
    } else {
        length = snprintf(path, bytes, "%s/nicbarr-%u/myrd.sock",
                          NULL != temporary && '/' == *temporary ? temporary : "/tmp",
                          (unsigned)geteuid());
    }
    return length < (int)bytes;
}

static enum myr_status introduce(int connection, bool hurry,
                                 int descriptors[MYR_DAEMON_DESCRIPTORS], struct myr_error *error)
{
    const struct myr_daemon_hello hello = {MYR_DAEMON_MAGIC, myr_daemon_layout(), getpid(), 0};
    struct myr_daemon_welcome welcome = {.magic = 0};
    const struct myr_talk_timeout *timeout = myr_talk_timeout_for_hello(hurry);
    enum myr_status status =
        myr_talk_send_to_daemon(connection, "myrd", &hello, sizeof(hello), timeout, error);
    if (MYR_OK == status) {
        status = myr_talk_await(connection, "myrd", timeout, error);
    }
    if (MYR_OK != status) {
        return status;
    }
    const ssize_t bytes = myr_talk_receive(connection, &welcome, sizeof(welcome), descriptors,
                                           MYR_DAEMON_DESCRIPTORS);
    if (bytes < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "myrd does not answer");
    }
    const bool complete = descriptors[0] >= 0;
    if (sizeof(welcome) != bytes || MYR_DAEMON_MAGIC != welcome.magic) {
        if (complete) {
            close(descriptors[MYR_DAEMON_MEMORY]);
            close(descriptors[MYR_DAEMON_SOCKET]);
        }
        return myr_fail(error, MYR_ERR_FOREIGN, 0, "myrd is of another version of nicbarr");
    }
    welcome.why[sizeof(welcome.why) - 1] = '\0';
    if (MYR_OK != welcome.status) {
        return myr_fail(error, (enum myr_status)welcome.status, 0, "%s", welcome.why);
    }
    return complete
               ? MYR_OK
               : myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd's file descriptors were not received");
}

enum myr_status myr_soft_daemon_open(const char *path, bool hurry, struct myr_soft_daemon *daemon,
                                     struct myr_error *error)
{
    char usual[200];
    int descriptors[MYR_DAEMON_DESCRIPTORS] = {-1, -1};
    *daemon = (struct myr_soft_daemon){.connection = -1};
    if (NULL == path && !myr_soft_daemon_path(usual, sizeof(usual))) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the daemon's socket");
    }
    enum myr_status status =
        myr_talk_connect(NULL == path ? usual : path, "myrd", false, &daemon->connection, error);
    if (MYR_OK == status) {
        status = introduce(daemon->connection, hurry, descriptors, error);
    }
    if (MYR_OK == status) {
        status = myr_segment_join_fd(descriptors[MYR_DAEMON_MEMORY], &daemon->segment, error);
        if (MYR_OK == status) {
            status = myr_soft_open_given(daemon->segment, descriptors[MYR_DAEMON_SOCKET],
                                         &daemon->nic, error);
        }
        if (MYR_OK != status) {
            close(descriptors[MYR_DAEMON_SOCKET]);
        }
    }
    if (MYR_OK != status) {
        myr_soft_daemon_close(daemon);
    }
    return MYR_ERR_NOT_YET == status && !hurry ? MYR_ERR_SYSTEM : status;
}

void myr_soft_daemon_close(struct myr_soft_daemon *daemon)
{
    if (NULL != daemon->nic) {
        myr_soft_close(daemon->nic);
        daemon->nic = NULL;
    }
    if (NULL != daemon->segment) {
        myr_segment_leave(daemon->segment);
        daemon->segment = NULL;
    }
    if (daemon->connection >= 0) {
        const struct myr_daemon_hello goodbye = {MYR_DAEMON_MAGIC, 0, getpid(), 1};
        (void)myr_talk_send(daemon->connection, &goodbye, sizeof(goodbye), NULL, 0, MSG_DONTWAIT);
        close(daemon->connection);
        daemon->connection = -1;
    }
}
