/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the server continues to serve other clients whatever a client sends, and however
 * little it reads.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/test.h"

/* A client that sends requests without reading the responses is disconnected, because unread
 * responses occupy memory of the server. MYR_KERNEL_CLOSE has no response, and may be sent before a
 * response is read. */
SERVER(clients_that_read_nothing_are_disconnected)
{
    const struct myr_kernel_question closing = {
        .magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_CLOSE, .key = 8};
    struct myr_kernel_question question = question_of_two(7, "127.0.0.2");
    struct myr_kernel_answer answer;
    const int raw = connect_raw();
    question.magic = MYR_KERNEL_MAGIC;
    question.ask = MYR_KERNEL_OPEN;
    assert_int_equal(send(raw, &question, sizeof(question), 0), sizeof(question));
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
    assert_int_equal(ask_and_peek(raw), MYR_OK);
    assert_int_equal(send(raw, &closing, sizeof(closing), 0), sizeof(closing));
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
    assert_int_equal(ask_and_peek(raw), MYR_OK); /* it is still served */
    assert_int_equal(failed(7), 0);
    ask_until_disconnected(raw);
    fake_await_ring(7, MCP_RING_FAIL);
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), 0);
    close(raw);
}

SERVER(invalid_requests_end_the_connection)
{
    struct myr_kernel_nic *nic = connect_client();
    static uint8_t bytes_sent[2 * sizeof(struct myr_kernel_question)];
    struct myr_kernel_question *question = (struct myr_kernel_question *)bytes_sent;
    uint64_t random = crew_seed();
    for (uint32_t kind = 0; kind < 40; ++kind) {
        size_t bytes = sizeof(*question);
        for (size_t b = 0; b < sizeof(bytes_sent); ++b) {
            bytes_sent[b] = (uint8_t)crew_random(&random);
        }
        question->magic = 0 == kind ? 0 : MYR_KERNEL_MAGIC;
        question->ask = 1 == kind ? 0 : 2 == kind ? MYR_KERNEL_SETTLE + 1 : MYR_KERNEL_OPEN;
        if (kind >= 3) {
            bytes = 3 == kind ? sizeof(bytes_sent) : 1 + crew_below(&random, sizeof(*question) - 1);
        }
        struct myr_kernel_answer answer = {.magic = 0};
        const int raw = connect_raw();
        assert_int_equal(send(raw, bytes_sent, bytes, 0), bytes);
        assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
        assert_int_equal(answer.status, MYR_ERR_FOREIGN);
        assert_int_equal(recv(raw, &answer, sizeof(answer), 0), 0);
        close(raw);
    }
    assert_int_equal(myr_kernel_nic_daemon(nic), MYR_KERNEL_HERE);
    myr_kernel_nic_close(nic);
}

/* Unread responses occupy memory of the server, so a report contains no entries beyond the existing
 * groups. */
SERVER(a_report_has_no_unused_entries)
{
    static struct myr_kernel_report report;
    const struct myr_kernel_question status = {.magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_STATUS};
    struct myr_kernel_nic *nic = connect_client();
    const int raw = connect_raw();
    for (uint32_t groups = 0; groups < 3; ++groups) {
        assert_int_equal(send(raw, &status, sizeof(status), 0), sizeof(status));
        assert_int_equal(recv(raw, &report, sizeof(report), 0), myr_kernel_report_bytes(groups));
        assert_int_equal(report.groups, groups);
        open_group(nic, 7 + groups, NULL);
    }
    close(raw);
    myr_kernel_nic_close(nic);
}
