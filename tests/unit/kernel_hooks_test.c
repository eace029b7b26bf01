/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how a NIC attaches to an interface (firmware/kernel/hooks.c), and the guard that removes
 * its filters (myrd/kernel_guard.c), in a separate network namespace. A failure means that myrd
 * --kernel leaves filters behind at an interface, or removes filters of others. The test lists the
 * filters with tc.
 *
 * Invariants for clsact:
 *
 * - An attached NIC has one filter in each direction.
 * - A NIC that has detached, or was killed but had a guard, has none.
 * - A NIC that was killed with its guard has none once the next NIC of its name attaches.
 * - Filters of other NICs, with any priority, filters of other types, and other qdiscs are
 *   unchanged.
 *
 * The test is skipped if the kernel or the privileges are insufficient.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "firmware/kernel/hooks.h"
#include "myrd/kernel_guard.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { SKIPPED = 77, NICS = 4, STEPS = 40, TEXT = 8192 };

static int program[MCP_WAYS]; /* no-ops */
static int socket_filter;     /* a no-op of a type that cannot be attached to an interface */
static uint32_t interface;
static const char *const ways[MCP_WAYS] = {"ingress", "egress"};

static bool load_program(void)
{
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 /* TC_ACT_UNSPEC */},
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
    attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    socket_filter = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
    return program[MCP_IN] >= 0 && program[MCP_OUT] >= 0 && socket_filter >= 0;
}

/* ---- the present filters ---- */

static bool run(const char *command)
{
    return 0 == system(command);
}

static void list(enum mcp_way way, char text[TEXT])
{
    char command[100];
    snprintf(command, sizeof(command), "tc filter show dev nic0 %s 2>&1", ways[way]);
    FILE *tc = popen(command, "re");
    assert_non_null(tc);
    text[fread(text, 1, TEXT - 1, tc)] = '\0';
    pclose(tc);
}

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

/* Returns whether both directions have these numbers of filters with these names. */
static bool have_filters(const char *const *names, const uint32_t *filters, uint32_t several)
{
    for (int way = 0; way < MCP_WAYS; ++way) {
        char text[TEXT];
        list((enum mcp_way)way, text);
        for (uint32_t n = 0; n < several; ++n) {
            if (filters[n] != count(text, names[n])) {
                print_message("%s does not have %u filters %s:\n%s", ways[way], filters[n],
                              names[n], text);
                return false;
            }
        }
    }
    return true;
}

static void expect(const char *name, uint32_t filters)
{
    assert_true(have_filters(&name, &filters, 1));
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

static int attach(struct mcp_hooks *hooks, const char *name)
{
    return mcp_hooks_attach(hooks, interface, program, name, false, NULL);
}

#define HOOKS_TEST(name) TEST_IN(name, begin, end)

/* ---- attaching ---- */

HOOKS_TEST(by_the_preferred_means)
{
    struct mcp_hooks hooks;
    assert_int_equal(mcp_hooks_attach(&hooks, interface, program, "one", true, NULL), 0);
    expect("one", mcp_hooks_have_filters(&hooks));
    mcp_hooks_detach(&hooks);
    expect("one", 0);
}

/* If the second program cannot be attached, the first one is not attached a second time by the
 * other mechanism (tcx or clsact). */
HOOKS_TEST(only_one_program)
{
    struct mcp_hooks hooks;
    const int one[MCP_WAYS] = {[MCP_IN] = program[MCP_IN], [MCP_OUT] = socket_filter};
    assert_int_equal(mcp_hooks_attach(&hooks, interface, one, "one", true, NULL), -1);
    assert_int_equal(errno, EINVAL);
    const bool tcx = hooks.link[MCP_IN] >= 0;
    assert_int_equal(mcp_hooks_have_filters(&hooks), !tcx);
    mcp_hooks_detach(&hooks);
    expect("one", 0);
}

HOOKS_TEST(missing_interface)
{
    struct mcp_hooks hooks;
    assert_int_equal(mcp_hooks_attach(&hooks, 9999, program, "one", false, NULL), -1);
    assert_int_equal(errno, ENODEV);
    mcp_hooks_detach(&hooks);
    hooks = MCP_NO_HOOKS;
    assert_false(mcp_hooks_have_filters(&hooks));
    mcp_hooks_detach(&hooks);
}

/* With an ingress qdisc, a filter for outgoing packets would process incoming ones. */
HOOKS_TEST(with_another_qdisc)
{
    struct mcp_hooks hooks;
    assert_true(run("tc qdisc add dev nic0 ingress"));
    assert_int_equal(attach(&hooks, "one"), -1);
    assert_int_equal(errno, EADDRINUSE);
    mcp_hooks_detach(&hooks);
    assert_true(run("tc qdisc show dev nic0 | grep -q 'qdisc ingress'"));
    char text[TEXT];
    list(MCP_IN, text);
    assert_string_equal(text, "");
}

/* If a filter of another type has priority 1, the NIC's filter comes after it. */
HOOKS_TEST(beside_another_type)
{
    struct mcp_hooks hooks;
    assert_true(run("tc qdisc add dev nic0 clsact"));
    if (!run("tc filter add dev nic0 ingress prio 1 protocol ip u32 match u32 0 0 2> /dev/null")) {
        print_message("skipped: this kernel has no u32 filters\n");
        skip();
    }
    assert_int_equal(attach(&hooks, "one"), 0);
    expect("one", 1);
    char text[TEXT];
    list(MCP_IN, text);
    assert_true(strstr(text, "u32") < strstr(text, "bpf"));
    mcp_hooks_detach(&hooks);
    expect("one", 0);
    list(MCP_IN, text);
    assert_non_null(strstr(text, "u32"));
}

HOOKS_TEST(the_interface_is_deleted)
{
    struct mcp_hooks hooks;
    assert_int_equal(attach(&hooks, "one"), 0);
    assert_int_equal(end(state), 0);
    mcp_hooks_detach(&hooks);
    assert_int_equal(begin(state), 0);
}

/* ---- NICs that attach and die ---- */

static const char *const names[NICS + 1] = {"nicbarr-10.0.0.1:1", "nicbarr-10.0.0.1:10",
                                            "nicbarr-10.0.0.10:1", "nicbarr", "stranger"};

/* Stay attached until killed. The guard, if any, is in the same process group. */
static void stay_attached(uint32_t guarded, void *context)
{
    struct mcp_hooks hooks;
    struct myr_error error;
    int guard, *ready = context;
    (void)setpgid(0, 0);
    CREW_CHECK(0 == attach(&hooks, names[guarded >> 1]), "%s", strerror(errno));
    if (0 != guarded % 2) {
        CREW_CHECK(MYR_OK == myrd_guard_start(&hooks, false, &guard, &error), "%s", error.text);
        CREW_CHECK(guard >= 0 && !mcp_hooks_have_filters(&hooks), "no guard");
    }
    CREW_CHECK(1 == write(ready[1], "", 1), "the test has ended");
    for (;;) {
        pause();
    }
}

struct nic {
    pid_t process; /* 0: none */
    bool guarded, leftover;
};

static void start(struct nic *nic, uint32_t number, bool guarded)
{
    int ready[2];
    char word;
    assert_int_equal(pipe(ready), 0);
    nic->process = crew_fork(stay_attached, number << 1 | guarded, ready);
    nic->guarded = guarded;
    assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
    nic->leftover = false;
}

/* Kill a NIC, with or without its guard. In the latter case the guard removes the filters and
 * ends. */
static void stop(struct nic *nic, uint32_t number, bool with_guard)
{
    assert_int_equal(kill(with_guard ? -nic->process : nic->process, SIGKILL), 0);
    assert_int_equal(waitpid(nic->process, NULL, 0), nic->process);
    nic->leftover = with_guard || !nic->guarded;
    nic->process = 0;
    if (!nic->leftover) {
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
        filters[n] = 0 != nics[n].process || nics[n].leftover;
    }
    assert_true(have_filters(names, filters, NICS + 1));
}

/* The NIC that attached last is first in both directions. */
static void expect_first(const char *name)
{
    for (int way = 0; way < MCP_WAYS; ++way) {
        char text[TEXT], word[80];
        list((enum mcp_way)way, text);
        snprintf(word, sizeof(word), " %s ", name);
        const char *first = strstr(text, word);
        assert_non_null(first);
        for (uint32_t n = 0; n <= NICS; ++n) {
            snprintf(word, sizeof(word), " %s ", names[n]);
            const char *other = strstr(text, word);
            assert_true(NULL == other || first <= other);
        }
    }
}

/* The foreign filter has the priority that a NIC would use first. */
HOOKS_TEST(nics_attach_and_die)
{
    struct nic nics[NICS] = {{0}};
    struct mcp_hooks stranger;
    uint64_t random = crew_seed();
    assert_int_equal(attach(&stranger, names[NICS]), 0);
    assert_true(mcp_hooks_have_filters(&stranger));
    for (int step = 0; step < STEPS; ++step) {
        const uint32_t n = crew_below(&random, NICS);
        if (0 == nics[n].process) {
            start(&nics[n], n, 0 != crew_below(&random, 2));
            expect_first(names[n]);
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
        assert_int_equal(attach(&last, names[n]), 0);
        mcp_hooks_detach(&last);
        nics[n].leftover = false;
        expect_all(nics);
    }
    mcp_hooks_detach(&stranger);
    expect(names[NICS], 0);
    assert_true(run("tc qdisc show dev nic0 | grep -q clsact"));
}

/* ---- the guard ---- */

HOOKS_TEST(no_guard_is_needed)
{
    struct mcp_hooks hooks = MCP_NO_HOOKS;
    struct myr_error error;
    int guard;
    assert_int_equal(myrd_guard_start(&hooks, false, &guard, &error), MYR_OK);
    assert_int_equal(guard, -1);
    myrd_guard_end(guard);
    assert_int_equal(wait(NULL), -1);
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

/* A guard has no capability but CAP_NET_ADMIN, has only two descriptors, and ignores signals. It
 * owns the filters, and removes them on request. */
HOOKS_TEST(privileges_of_a_guard)
{
    const uint64_t net_admin = UINT64_C(1) << 12;
    const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE};
    struct mcp_hooks hooks;
    struct myr_error error;
    char command[80];
    int guard;
    assert_int_equal(attach(&hooks, "one"), 0);
    assert_int_equal(myrd_guard_start(&hooks, false, &guard, &error), MYR_OK);
    const pid_t pid = only_child();
    assert_false(mcp_hooks_have_filters(&hooks));
    mcp_hooks_detach(&hooks);
    for (size_t s = 0; s < sizeof(signals) / sizeof(signals[0]); ++s) {
        assert_int_equal(kill(pid, signals[s]), 0);
    }
    assert_int_equal(crew_status_of(pid, "CapEff"), net_admin);
    assert_int_equal(crew_status_of(pid, "CapPrm"), net_admin);
    assert_int_equal(crew_status_of(pid, "CapInh"), 0);
    assert_int_equal(crew_status_of(pid, "CapBnd"), 0);
    assert_int_equal(crew_status_of(pid, "NoNewPrivs"), 1);
#ifdef HAVE_SECCOMP
    assert_int_equal(crew_status_of(pid, "Seccomp"), 2);
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
        return skip_all("cannot create a network namespace");
    }
    if (!load_program()) {
        return skip_all("not permitted to load a program into the kernel");
    }
    if (!run("(ip link add nic0 type veth peer name nic1 && tc qdisc add dev nic0 clsact &&"
             " ip link delete nic0) > /dev/null 2>&1")) {
        return skip_all("no clsact (needs ip, tc, and both veth and clsact in the kernel)");
    }
    return test_run(NULL);
}
