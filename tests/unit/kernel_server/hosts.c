/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that only hosts with a myrd --kernel become peers, and that an absent host does not delay
 * other clients.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "myrd/kernel_hosts.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/test.h"

/* The daemon answers valid queries from the right port at once, and repeats their number. */
SERVER(the_server_answers_queries)
{
    const struct sockaddr_in server = {
        .sin_family = AF_INET, .sin_addr.s_addr = ip4_of("127.0.0.1"), .sin_port = htons(nic_port)};
    struct myrd_hosts_words words = {
        .magic = MYRD_HOSTS_MAGIC, .version = MYRD_HOSTS_VERSION, .kind = MYRD_HOSTS_QUESTION};
    uint8_t answer[2 * sizeof(words)];
    const int asking = bind_at("127.0.0.4", nic_port), other_port = bind_at("127.0.0.4", 0);
    assert_int_equal(sendto(asking, &words, sizeof(words) - 1, 0, (const struct sockaddr *)&server,
                            sizeof(server)),
                     sizeof(words) - 1);
    for (uint64_t number = 1; number < 100; ++number) {
        struct myrd_hosts_words wrong = words;
        wrong.number = number;
        wrong.magic ^= 1;
        send_words(asking, &server, &wrong);
        wrong = words;
        wrong.kind = 0;
        send_words(asking, &server, &wrong);
        send_words(other_port, &server, &words);
        words.number = number << 32 | number;
        send_words(asking, &server, &words);
        assert_int_equal(recv(asking, answer, sizeof(answer), 0), sizeof(words));
        struct myrd_hosts_words right = words;
        right.kind = MYRD_HOSTS_ANSWER;
        assert_memory_equal(answer, &right, sizeof(right));
    }
    assert_int_equal(recv(other_port, answer, sizeof(answer), MSG_DONTWAIT), -1);
    close(other_port);
    close(asking);
}

SERVER(a_host_without_a_daemon_is_no_peer)
{
    struct myr_kernel_nic *nic = connect_client();
    struct mcp_kernel_seen seen;
    struct myr_error error;
    struct myr_kernel_question question = question_of_two(7, addresses[LIAR]);
    question.peers[1].ip = ip_of(addresses[HOST]);
    assert_int_equal(myr_kernel_nic_ask_open(nic, &question, &seen, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, "no myrd --kernel answers at 127.0.0.3, UDP port"));
    assert_false(is_open(7));
    open_group(nic, 7, NULL); /* other groups still can */
    myr_kernel_nic_close(nic);
}

static void *ask_for_absent(void *nic)
{
    struct myr_kernel_question question = question_of_two(8, "127.0.0.9");
    static struct myr_error error;
    struct mcp_kernel_seen seen;
    error = (struct myr_error){.status = MYR_OK};
    if (MYR_OK == myr_kernel_nic_ask_open(nic, &question, &seen, &error)) {
        close(seen.page);
    }
    return &error;
}

SERVER(an_absent_host_delays_no_client)
{
    struct myr_kernel_nic *waiting = connect_client(), *other = connect_client();
    struct myr_error *error;
    pthread_t thread;
    fake_set_absent(ip_of("127.0.0.9"), true);
    pthread_create(&thread, NULL, ask_for_absent, waiting);
    fake_await_meeting();
    open_group(other, 7, NULL); /* while the first client waits */
    pthread_join(thread, (void **)&error);
    assert_int_equal(error->status, MYR_ERR_GONE);
    assert_non_null(strstr(error->text, "127.0.0.9 does not answer on lo"));
    assert_false(is_open(8));
    open_group(waiting, 7, NULL); /* the connection still works */
    myr_kernel_nic_close(waiting);
    myr_kernel_nic_close(other);
}

SERVER(a_host_that_answers_late_is_met)
{
    struct myr_kernel_nic *waiting = connect_client();
    struct myr_error *error;
    pthread_t thread;
    fake_set_absent(ip_of("127.0.0.9"), true);
    pthread_create(&thread, NULL, ask_for_absent, waiting);
    fake_await_meeting();
    fake_set_absent(ip_of("127.0.0.9"), false);
    pthread_join(thread, (void **)&error);
    assert_int_equal(error->status, MYR_OK);
    assert_true(is_open(8));
    myr_kernel_nic_close(waiting);
}

/* A client that disconnects while the daemon waits for a host leaves nothing behind. */
SERVER(waiting_clients_may_disconnect)
{
    struct myr_kernel_question question = question_of_two(8, "127.0.0.9");
    question.magic = MYR_KERNEL_MAGIC;
    question.ask = MYR_KERNEL_OPEN;
    fake_set_absent(ip_of("127.0.0.9"), true);
    for (int round = 0; round < 30; ++round) {
        const int raw = connect_raw();
        assert_int_equal(send(raw, &question, sizeof(question), 0), sizeof(question));
        close(raw);
    }
    fake_await_meeting();
    myr_kernel_nic_close(connect_client());
    assert_false(is_open(8));
}
