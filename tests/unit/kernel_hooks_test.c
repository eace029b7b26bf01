/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standing at an interface (firmware/kernel/hooks.c), and who cleans up there
 * (myrd/kernel_guard.c), in a network of this test's own. The system's own tool, tc, says what is
 * there.
 *
 * Invariants, by clsact. Whoever stands there has one filter each way. Whoever left, or was killed
 * and has a guard, has none. Whoever was killed with its guard has none as soon as the next one of
 * its name stands there. Whatever else others have put there stays as it was: other NICs' filters,
 * with whatever number; filters of another kind; a qdisc of another kind.
 *
 * Where the kernel, or this process's rights, do not allow it, all this is skipped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "firmware/kernel/hooks.h"
#include "myrd/kernel_guard.h"
#include "tests/unit/crew.h"

enum { SKIPPED = 77, NICS = 4, STEPS = 40, TEXT = 8192 };

static int program[MCP_WAYS]; /* which does nothing */
static uint32_t interface;
static const char *const ways[MCP_WAYS] = {"ingress", "egress"};

static bool load_program(void)
{
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 /* go on */},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.prog_type = BPF_PROG_TYPE_SCHED_CLS;
    attributes.insns = (uint64_t)(uintptr_t)code;
    attributes.insn_cnt = sizeof(code) / sizeof(code[0]);
    attributes.license = (uint64_t)(uintptr_t) "Dual BSD/GPL";
    for (int way = 0; way < MCP_WAYS; ++way) {
        program[way] = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
    }
    return program[MCP_IN] >= 0 && program[MCP_OUT] >= 0;
}

/* ---- what is there ---- */

static bool run(const char *command)
{
    return 0 == system(command);
}

/* What tc says of the filters this way. */
static void list(enum mcp_way way, char text[TEXT])
{
    char command[100];
    snprintf(command, sizeof(command), "tc filter show dev nic0 %s 2>&1", ways[way]);
    FILE *tc = popen(command, "re");
    assert_non_null(tc);
    text[fread(text, 1, TEXT - 1, tc)] = '\0';
    pclose(tc);
}

/* So many filters with this name are in the list. */
static uint32_t count(const char *text, const char *name)
{
    char word[80];
    uint32_t found = 0;
    snprintf(word, sizeof(word), " %s ", name);
    for (const char *at = text; NULL != (at = strstr(at, word)); ++at) {
        ++found;
    }
    return found;
}

/* Are so many filters of each of these names there, both ways? */
static bool are_there(const char *const *names, const uint32_t *filters, uint32_t several)
{
    for (int way = 0; way < MCP_WAYS; ++way) {
        char text[TEXT];
        list((enum mcp_way)way, text);
        for (uint32_t n = 0; n < several; ++n) {
            if (filters[n] != count(text, names[n])) {
                print_message("%s, not %u called %s:\n%s", ways[way], filters[n], names[n], text);
                return false;
            }
        }
    }
    return true;
}

static void expect(const char *name, uint32_t filters)
{
    assert_true(are_there(&name, &filters, 1));
}

static int begin(void **state)
{
    (void)state;
    return run("ip link add nic0 type veth peer name nic1") &&
                   0 != (interface = if_nametoindex("nic0"))
               ? 0
               : -1;
}

static int end(void **state)
{
    (void)state;
    return run("ip link delete nic0") ? 0 : -1;
}

static int stand(struct mcp_hooks *hooks, const char *name)
{
    return mcp_hooks_stand(hooks, interface, program, name, false, NULL);
}

/* ---- standing ---- */

static void by_what_the_kernel_has(void **state)
{
    (void)state;
    struct mcp_hooks hooks;
    assert_int_equal(mcp_hooks_stand(&hooks, interface, program, "one", true, NULL), 0);
    expect("one", mcp_hooks_stay(&hooks));
    mcp_hooks_leave(&hooks);
    expect("one", 0);
}

static void by_clsact(void **state)
{
    (void)state;
    struct mcp_hooks hooks;
    assert_int_equal(stand(&hooks, "one"), 0);
    assert_true(mcp_hooks_stay(&hooks));
    expect("one", 1);
    mcp_hooks_leave(&hooks);
    expect("one", 0);
    assert_true(run("tc qdisc show dev nic0 | grep -q clsact"));
}

static void nowhere(void **state)
{
    (void)state;
    struct mcp_hooks hooks;
    assert_int_equal(mcp_hooks_stand(&hooks, 9999, program, "one", false, NULL), -1);
    assert_int_equal(errno, ENODEV);
    mcp_hooks_leave(&hooks);
    hooks = MCP_NO_HOOKS;
    assert_false(mcp_hooks_stay(&hooks));
    mcp_hooks_leave(&hooks);
}

/* There, a filter for what goes out would look at what comes in. */
static void where_another_qdisc_is(void **state)
{
    (void)state;
    struct mcp_hooks hooks;
    assert_true(run("tc qdisc add dev nic0 ingress"));
    assert_int_equal(stand(&hooks, "one"), -1);
    assert_int_equal(errno, EADDRINUSE);
    mcp_hooks_leave(&hooks);
    assert_true(run("tc qdisc show dev nic0 | grep -q 'qdisc ingress'"));
    char text[TEXT];
    list(MCP_IN, text);
    assert_string_equal(text, "");
}

/* Priority 1 is another kind's: the NIC stands behind it. */
static void beside_another_kind(void **state)
{
    (void)state;
    struct mcp_hooks hooks;
    assert_true(run("tc qdisc add dev nic0 clsact"));
    if (!run("tc filter add dev nic0 ingress prio 1 protocol ip u32 match u32 0 0 2> /dev/null")) {
        print_message("this kernel has no filters of the kind u32\n");
        skip();
    }
    assert_int_equal(stand(&hooks, "one"), 0);
    expect("one", 1);
    char text[TEXT];
    list(MCP_IN, text);
    assert_true(strstr(text, "u32") < strstr(text, "bpf"));
    mcp_hooks_leave(&hooks);
    expect("one", 0);
    list(MCP_IN, text);
    assert_non_null(strstr(text, "u32"));
}

/* Whoever came last looks first. */
static void before_those_who_came_earlier(void **state)
{
    (void)state;
    struct mcp_hooks one, two;
    char text[TEXT];
    assert_int_equal(stand(&one, "one"), 0);
    assert_int_equal(stand(&two, "two"), 0);
    for (int way = 0; way < MCP_WAYS; ++way) {
        list((enum mcp_way)way, text);
        assert_true(strstr(text, " two ") < strstr(text, " one "));
    }
    mcp_hooks_leave(&one);
    mcp_hooks_leave(&two);
}

static void its_interface_goes(void **state)
{
    struct mcp_hooks hooks;
    assert_int_equal(stand(&hooks, "one"), 0);
    assert_int_equal(end(state), 0);
    mcp_hooks_leave(&hooks);
    assert_int_equal(begin(state), 0);
}

/* ---- NICs that come and go ---- */

static const char *const names[NICS + 1] = {"nicbarr-10.0.0.1:1", "nicbarr-10.0.0.1:10",
                                            "nicbarr-10.0.0.10:1", "nicbarr", "stranger"};

/* A process that stands there until it is killed. Its guard, if it has one, is in its group of
 * processes. */
static void stand_there(uint32_t guarded, void *context)
{
    struct mcp_hooks hooks;
    struct myr_error error;
    int guard, *ready = context;
    (void)setpgid(0, 0);
    CREW_CHECK(0 == stand(&hooks, names[guarded >> 1]), "%s", strerror(errno));
    if (0 != guarded % 2) {
        CREW_CHECK(MYR_OK == myrd_guard_start(&hooks, false, &guard, &error), "%s", error.text);
        CREW_CHECK(guard >= 0 && !mcp_hooks_stay(&hooks), "no guard");
    }
    CREW_CHECK(1 == write(ready[1], "", 1), "a word");
    for (;;) {
        pause();
    }
}

struct nic {
    pid_t process; /* 0: none */
    bool guarded, left;
};

static void start(struct nic *nic, uint32_t number, bool guarded)
{
    int ready[2];
    char word;
    assert_int_equal(pipe(ready), 0);
    nic->process = crew_fork(stand_there, number << 1 | guarded, ready);
    nic->guarded = guarded;
    assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
    nic->left = false;
}

/* With its guard, or without. The guard then ends, too. */
static void stop(struct nic *nic, uint32_t number, bool with_guard)
{
    assert_int_equal(kill(with_guard ? -nic->process : nic->process, SIGKILL), 0);
    assert_int_equal(waitpid(nic->process, NULL, 0), nic->process);
    nic->left = with_guard || !nic->guarded;
    nic->process = 0;
    if (!nic->left) {
        char way_in[TEXT], way_out[TEXT];
        do {
            list(MCP_IN, way_in);
            list(MCP_OUT, way_out);
        } while (0 != count(way_in, names[number]) + count(way_out, names[number]));
    }
}

static void expect_all(const struct nic *nics)
{
    uint32_t filters[NICS + 1] = {[NICS] = 1};
    for (uint32_t n = 0; n < NICS; ++n) {
        filters[n] = 0 != nics[n].process || nics[n].left;
    }
    assert_true(are_there(names, filters, NICS + 1));
}

/* The stranger has the number that a NIC would take first. */
static void they_come_and_go(void **state)
{
    struct nic nics[NICS] = {{0}};
    struct mcp_hooks stranger;
    uint64_t random = crew_seed();
    (void)state;
    assert_int_equal(stand(&stranger, names[NICS]), 0);
    for (int step = 0; step < STEPS; ++step) {
        const uint32_t n = crew_below(&random, NICS);
        if (0 == nics[n].process) {
            start(&nics[n], n, 0 != crew_below(&random, 2));
        } else {
            stop(&nics[n], n, 0 != crew_below(&random, 2));
        }
        expect_all(nics);
    }
    for (uint32_t n = 0; n < NICS; ++n) {
        if (0 != nics[n].process) {
            stop(&nics[n], n, false);
        }
        struct mcp_hooks last;
        assert_int_equal(stand(&last, names[n]), 0);
        mcp_hooks_leave(&last);
        nics[n].left = false;
        expect_all(nics);
    }
    mcp_hooks_leave(&stranger);
}

/* ---- the guard ---- */

static void a_guard_ends_when_told(void **state)
{
    (void)state;
    struct mcp_hooks hooks;
    struct myr_error error;
    int guard;
    assert_int_equal(stand(&hooks, "one"), 0);
    assert_int_equal(myrd_guard_start(&hooks, false, &guard, &error), MYR_OK);
    assert_false(mcp_hooks_stay(&hooks));
    mcp_hooks_leave(&hooks); /* which are the guard's by now */
    expect("one", 1);
    myrd_guard_end(guard);
    expect("one", 0);
    assert_true(wait(NULL) > 0);
}

static void no_guard_is_needed(void **state)
{
    (void)state;
    struct mcp_hooks hooks = MCP_NO_HOOKS;
    struct myr_error error;
    int guard;
    assert_int_equal(myrd_guard_start(&hooks, false, &guard, &error), MYR_OK);
    assert_int_equal(guard, -1);
    myrd_guard_end(guard);
    assert_int_equal(wait(NULL), -1);
}

static uint64_t status_of(pid_t pid, const char *word)
{
    char path[40], line[200], format[40];
    unsigned long long value = ~0ULL;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    snprintf(format, sizeof(format), "%s: %%llx", word);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (NULL != fgets(line, sizeof(line), file) && 1 != sscanf(line, format, &value)) {
    }
    fclose(file);
    return value;
}

static pid_t only_child(void)
{
    char path[60];
    int child = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &child), 1);
    fclose(file);
    return child;
}

/* CAP_NET_ADMIN, two descriptors, no signal that could be kept off. */
static void what_a_guard_may(void **state)
{
    (void)state;
    const uint64_t net_admin = UINT64_C(1) << 12;
    const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE};
    struct mcp_hooks hooks;
    struct myr_error error;
    char command[80];
    int guard;
    assert_int_equal(stand(&hooks, "one"), 0);
    assert_int_equal(myrd_guard_start(&hooks, false, &guard, &error), MYR_OK);
    const pid_t pid = only_child();
    for (size_t s = 0; s < sizeof(signals) / sizeof(signals[0]); ++s) {
        assert_int_equal(kill(pid, signals[s]), 0);
    }
    assert_int_equal(status_of(pid, "CapEff"), net_admin);
    assert_int_equal(status_of(pid, "CapPrm"), net_admin);
    assert_int_equal(status_of(pid, "CapInh"), 0);
    assert_int_equal(status_of(pid, "CapBnd"), 0);
    assert_int_equal(status_of(pid, "NoNewPrivs"), 1);
#ifdef HAVE_SECCOMP
    assert_int_equal(status_of(pid, "Seccomp"), 2);
#endif
    snprintf(command, sizeof(command), "test \"$(ls /proc/%d/fd | xargs)\" = '0 1'", (int)pid);
    assert_true(run(command));
    expect("one", 1);
    myrd_guard_end(guard);
    expect("one", 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int skip_all(const char *why)
{
    printf("skipped: %s\n", why);
    return SKIPPED;
}

int main(void)
{
    crew_watchdog();
    if (unshare(CLONE_NEWNET) < 0) {
        return skip_all("no network namespace of its own");
    }
    if (!load_program()) {
        return skip_all("no right to load a program into the kernel");
    }
    if (!run("(ip link add nic0 type veth peer name nic1 && tc qdisc add dev nic0 clsact &&"
             " ip link delete nic0) > /dev/null 2>&1")) {
        return skip_all("no clsact (needs ip, tc, and both veth and clsact in the kernel)");
    }
#define HOOKS_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(by_what_the_kernel_has),
        HOOKS_TEST(by_clsact),
        HOOKS_TEST(nowhere),
        HOOKS_TEST(where_another_qdisc_is),
        HOOKS_TEST(beside_another_kind),
        HOOKS_TEST(before_those_who_came_earlier),
        HOOKS_TEST(its_interface_goes),
        HOOKS_TEST(they_come_and_go),
        HOOKS_TEST(a_guard_ends_when_told),
        HOOKS_TEST(no_guard_is_needed),
        HOOKS_TEST(what_a_guard_may),
    };
    return cmocka_run_group_tests_name("kernel_hooks", tests, NULL, NULL);
}
