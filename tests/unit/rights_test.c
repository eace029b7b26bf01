/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the confinement of a daemon (myrd/rights.c, myrd/filter.c). A failure means that an
 * attacker who takes over the daemon can open files, run programs, or regain privileges.
 *
 * Invariants: no thread of a confined daemon can open files, run programs, create processes or
 * other sockets, or acquire capabilities; the operations that a daemon needs still work.
 *
 * Each attempt is also made in a process without the filter, where the kernel must not answer
 * ENOSYS, so that attempts that would fail in any case are detected.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "myrd/filter.h"
#include "myrd/rights.h"
#include "os/clock.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { SOFT = 1 << MYRD_FILTER_SOFT, KERNEL = 1 << MYRD_FILTER_KERNEL, BOTH = SOFT | KERNEL };

/* ---- forbidden system calls ---- */

static struct attempt {
    const char *name;
    long (*make)(void);
    int owners; /* the daemons to which the filter forbids it; the guard's filter forbids all */
} attempts[50];
static size_t count;

/* Define a system call, and add it to the list. */
#define ATTEMPT(owners, name, call)                                                                \
    static long name(void)                                                                         \
    {                                                                                              \
        return (call);                                                                             \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        attempts[count++] = (struct attempt){#name, name, owners};                                 \
    }

static char *const no_arguments[] = {NULL};

static long fork_and_wait(void)
{
    const pid_t child = fork();
    if (0 == child) {
        _exit(0);
    }
    return child < 0 ? -1 : waitpid(child, NULL, 0);
}

static long map_memory(int protection)
{
    void *memory = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return MAP_FAILED == memory ? -1 : 0;
}

ATTEMPT(BOTH, run_a_program, execve("/nowhere", no_arguments, no_arguments))
ATTEMPT(BOTH, run_a_descriptor, syscall(SYS_execveat, -1, "", no_arguments, no_arguments, 0))
ATTEMPT(BOTH, trace_another, ptrace(PTRACE_CONT, getpid(), NULL, NULL))
ATTEMPT(BOTH, read_another, syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0))
ATTEMPT(BOTH, take_a_descriptor, syscall(SYS_pidfd_getfd, -1, 0, 0))
ATTEMPT(BOTH, signal_another, kill(getppid(), SIGCONT))
ATTEMPT(BOTH, signal_by_descriptor, syscall(SYS_pidfd_send_signal, -1, SIGTERM, NULL, 0))
ATTEMPT(BOTH, mount_something, mount("none", "/nowhere", "tmpfs", 0, NULL))
ATTEMPT(BOTH, change_root, chroot("/nowhere"))
ATTEMPT(BOTH, change_dir, chdir("/nowhere"))
ATTEMPT(BOTH, enter_a_namespace, setns(-1, 0))
ATTEMPT(BOTH, make_a_namespace, unshare(0))
ATTEMPT(BOTH, clone_by_words, syscall(SYS_clone3, NULL, 0))
ATTEMPT(BOTH, become_another, setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1))
ATTEMPT(BOTH, change_rights, syscall(SYS_capset, NULL, NULL))
ATTEMPT(BOTH, change_this_process, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
ATTEMPT(BOTH, end_the_machine, syscall(SYS_reboot, 0, 0, 0, NULL)) /* without the magic numbers */
ATTEMPT(BOTH, load_a_bpf_program, syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0))
ATTEMPT(BOTH, attach_a_bpf_program, syscall(SYS_bpf, BPF_LINK_CREATE, NULL, 0))
ATTEMPT(SOFT, make_a_bpf_map, syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0))
ATTEMPT(KERNEL, read_a_secret, open("/etc/shadow", O_RDONLY | O_CLOEXEC))
ATTEMPT(BOTH, write_a_file, open("/nowhere", O_WRONLY | O_CLOEXEC))
ATTEMPT(BOTH, make_a_file, open("/nowhere/file", O_RDONLY | O_CREAT | O_CLOEXEC, 0600))
ATTEMPT(BOTH, open_otherwise, syscall(SYS_openat2, -1, "", NULL, 0))
ATTEMPT(BOTH, rename_a_file, rename("/nowhere", "/nowhere"))
ATTEMPT(BOTH, link_a_file, symlink("/nowhere", "/nowhere/link"))
ATTEMPT(BOTH, give_rights_to_a_file, chmod("/nowhere", 0777))
ATTEMPT(KERNEL, make_memory, memfd_create("test", MFD_CLOEXEC))
ATTEMPT(KERNEL, talk_version_6, socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0))
ATTEMPT(BOTH, talk_raw, socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0))
ATTEMPT(BOTH, talk_locally, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
ATTEMPT(KERNEL, talk_to_hosts, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
ATTEMPT(KERNEL, connect_to_hosts, connect(-1, NULL, 0))
ATTEMPT(BOTH, listen_to_hosts, listen(-1, 0))
ATTEMPT(BOTH, type_at_a_terminal, ioctl(-1, TIOCSTI, ""))
ATTEMPT(BOTH, run_made_code, mprotect(NULL, 0, PROT_READ | PROT_EXEC))
ATTEMPT(BOTH, make_a_process, fork_and_wait())
ATTEMPT(BOTH, map_made_code, map_memory(PROT_READ | PROT_EXEC))

/* AddressSanitizer maps memory on its own, which the guard's filter forbids. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

static bool refused(const struct attempt *attempt)
{
    errno = 0;
    return attempt->make() < 0 && ENOSYS == errno;
}

static void confine(enum myrd_filter_owner owner)
{
    struct myr_error error;
    CREW_CHECK(MYR_OK == myrd_filter(owner, &error), "%s", error.text);
}

static void try_without(uint32_t rank, void *context)
{
    (void)rank, (void)context;
    for (size_t a = 0; a < count; ++a) {
        CREW_CHECK(!refused(&attempts[a]), "%s: this system lacks the call", attempts[a].name);
    }
}

static void try_all(uint32_t owner, void *context)
{
    (void)context;
    confine((enum myrd_filter_owner)owner);
    for (size_t a = 0; a < count; ++a) {
        if (MYRD_FILTER_GUARD == owner || 0 != (attempts[a].owners & 1 << owner)) {
            CREW_CHECK(refused(&attempts[a]), "%s: %s", attempts[a].name, strerror(errno));
        }
    }
}

static void need_filter(void)
{
#ifndef HAVE_SECCOMP
    print_message("skipped: built without libseccomp\n");
    skip();
#endif
}

TEST(the_system_itself_allows_them)
{
    assert_true(crew_join(crew_fork(try_without, 0, NULL)));
}

TEST(the_filter_forbids_them)
{
    need_filter();
    assert_true(crew_join(crew_fork(try_all, MYRD_FILTER_SOFT, NULL)));
    assert_true(crew_join(crew_fork(try_all, MYRD_FILTER_KERNEL, NULL)));
    if (!SANITIZED) {
        assert_true(crew_join(crew_fork(try_all, MYRD_FILTER_GUARD, NULL)));
    }
}

/* ---- permitted system calls ---- */

static void *do_nothing(void *nothing)
{
    return nothing;
}

static void do_work(uint32_t owner, void *context)
{
    (void)context;
    confine((enum myrd_filter_owner)owner);
    pthread_t thread;
    CREW_CHECK(0 == pthread_create(&thread, NULL, do_nothing, NULL), "cannot create a thread");
    CREW_CHECK(0 == pthread_join(thread, NULL), "cannot join the thread");
    const size_t much = 64 << 20;
    char *memory = malloc(much);
    CREW_CHECK(NULL != memory, "cannot allocate memory");
    memset(memory, 1, much);
    free(memory);
    const int event = eventfd(1, EFD_CLOEXEC);
    struct pollfd watched = {.fd = event, .events = POLLIN};
    CREW_CHECK(1 == poll(&watched, 1, -1), "cannot poll an event");
    CREW_CHECK(syscall(SYS_pidfd_open, getpid(), 0) >= 0, "pidfd_open: %s", strerror(errno));
    CREW_CHECK(os_now_ns() > 0, "cannot read the clock");
    const long map = syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0);
    CREW_CHECK(map < 0 && (ENOSYS == errno) == (MYRD_FILTER_SOFT == owner), "creating a BPF map");
    if (MYRD_FILTER_SOFT == owner) {
        CREW_CHECK(0 == kill(getpid(), 0), "cannot check whether a process lives: %s",
                   strerror(errno));
        CREW_CHECK(open("/proc/self/stat", O_RDONLY | O_CLOEXEC) >= 0,
                   "cannot read a process's start time");
        CREW_CHECK(memfd_create("test", MFD_CLOEXEC) >= 0, "cannot create a segment");
        CREW_CHECK(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0, "cannot open a UDP socket");
        CREW_CHECK(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0 || EAFNOSUPPORT == errno,
                   "cannot open a UDP socket of IPv6");
    }
}

/* The guard reads, writes, and exits. */
static void guard_work(uint32_t rank, void *context)
{
    char word = 0;
    int words[2];
    (void)rank, (void)context;
    CREW_CHECK(0 == pipe2(words, O_CLOEXEC), "cannot make a pipe");
    confine(MYRD_FILTER_GUARD);
    CREW_CHECK(1 == write(words[1], &word, 1) && 1 == read(words[0], &word, 1),
               "cannot use the pipe");
    CREW_CHECK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0 && ENOSYS == errno,
               "opened a socket");
    _exit(EXIT_SUCCESS);
}

TEST(work_goes_on)
{
    need_filter();
    assert_true(crew_join(crew_fork(do_work, MYRD_FILTER_SOFT, NULL)));
    assert_true(crew_join(crew_fork(do_work, MYRD_FILTER_KERNEL, NULL)));
    if (!SANITIZED) {
        assert_true(crew_join(crew_fork(guard_work, 0, NULL)));
    }
}

/* ---- threads ---- */

static void *try_later(void *context)
{
    char word;
    CREW_CHECK(1 == read(*(const int *)context, &word, 1), "cannot use the pipe");
    CREW_CHECK(change_dir() < 0 && ENOSYS == errno, "%s", strerror(errno));
    CREW_CHECK(1 == prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) || ENOSYS == errno,
               "no_new_privs is not set");
    return NULL;
}

static void confine_with_a_thread(uint32_t rank, void *context)
{
    pthread_t thread;
    int words[2];
    (void)rank, (void)context;
    CREW_CHECK(0 == pipe2(words, O_CLOEXEC), "cannot make a pipe");
    CREW_CHECK(0 == pthread_create(&thread, NULL, try_later, &words[0]), "cannot create a thread");
    confine(MYRD_FILTER_SOFT);
    CREW_CHECK(1 == write(words[1], "", 1), "cannot use the pipe");
    CREW_CHECK(0 == pthread_join(thread, NULL), "cannot join the thread");
}

TEST(threads_that_are_there_already_are_bound)
{
    need_filter();
    assert_true(crew_join(crew_fork(confine_with_a_thread, 0, NULL)));
}

/* ---- capabilities ---- */

static void keep_one(uint32_t rank, void *context)
{
    const uint64_t one = UINT64_C(1) << CAP_KILL;
    struct myr_error error;
    (void)rank, (void)context;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0);
    CREW_CHECK(MYR_OK == myrd_rights_keep(one, &error), "%s", error.text);
    CREW_CHECK(one == crew_status_of(getpid(), "CapEff") &&
                   one == crew_status_of(getpid(), "CapPrm"),
               "other capabilities");
    CREW_CHECK(0 == crew_status_of(getpid(), "CapInh") && 0 == crew_status_of(getpid(), "CapAmb"),
               "inheritable capabilities");
    CREW_CHECK(0 == crew_status_of(getpid(), "CapBnd"), "bounding set: %llx",
               (unsigned long long)crew_status_of(getpid(), "CapBnd"));
    CREW_CHECK(1 == crew_status_of(getpid(), "NoNewPrivs"), "no_new_privs is not set");
    CREW_CHECK(myrd_rights_has(CAP_KILL) && !myrd_rights_has(CAP_CHOWN),
               "myrd_rights_has() is wrong");
}

/* The capabilities that a container may give to root. */
static void keep_without_setpcap(uint32_t rank, void *context)
{
    struct myr_error error;
    (void)rank, (void)context;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    CREW_CHECK(0 == syscall(SYS_capget, &header, data), "capget");
    data[0].permitted = data[0].effective = CAP_TO_MASK(CAP_KILL) | CAP_TO_MASK(CAP_CHOWN);
    data[1].permitted = data[1].effective = 0;
    CREW_CHECK(0 == syscall(SYS_capset, &header, data), "capset");
    bool left;
    CREW_CHECK(MYR_OK == myrd_rights_leave_files(-1, &left, &error) && !left, "%s", error.text);
    CREW_CHECK(MYR_OK == myrd_rights_keep(UINT64_C(1) << CAP_KILL, &error), "%s", error.text);
    CREW_CHECK(UINT64_C(1) << CAP_KILL == crew_status_of(getpid(), "CapEff"), "other capabilities");
    CREW_CHECK(1 == crew_status_of(getpid(), "NoNewPrivs"), "no_new_privs is not set");
}

TEST(capabilities_are_given_up)
{
    if (!myrd_rights_has(CAP_SETPCAP)) {
        print_message("skipped: requires root\n");
        skip();
    }
    assert_true(crew_join(crew_fork(keep_one, 0, NULL)));
    assert_true(crew_join(crew_fork(keep_without_setpcap, 0, NULL)));
}

/* ---- files ---- */

static void leave_files(uint32_t rank, void *context)
{
    struct myr_error error;
    struct stat about;
    (void)rank, (void)context;
    const int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool left;
    CREW_CHECK(MYR_OK == myrd_rights_leave_files(-1, &left, &error) && left, "%s", error.text);
    DIR *root = opendir("/");
    uint32_t entries = 0;
    CREW_CHECK(NULL != root, "cannot open the root directory: %s", strerror(errno));
    while (NULL != readdir(root)) {
        ++entries;
    }
    closedir(root);
    CREW_CHECK(2 == entries, "the root directory has %u entries", (unsigned)entries);
    CREW_CHECK(stat("/etc", &about) < 0 && ENOENT == errno, "/etc: %s", strerror(errno));
    CREW_CHECK(stat("../../etc", &about) < 0 && ENOENT == errno, "../../etc: %s", strerror(errno));
    CREW_CHECK(mkdir("/new", 0700) < 0 && EROFS == errno, "mkdir: %s", strerror(errno));
    CREW_CHECK(0 == fstatat(dir, "etc", &about, 0), "a descriptor opened before: %s",
               strerror(errno));
}

TEST(paths_are_unreachable)
{
    const int allowed = (int)syscall(SYS_fsopen, "tmpfs", 0);
    if (allowed < 0) {
        print_message("skipped: requires root, outside a container that forbids fsopen: %s\n",
                      strerror(errno));
        skip();
    }
    close(allowed);
    assert_true(crew_join(crew_fork(leave_files, 0, NULL)));
}
