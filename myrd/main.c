/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * myrd, the daemon that owns the NIC of a node: a soft NIC for all jobs of one user (see
 * libmyr/soft/nic_daemon.h), or the kernel NIC for all users (see libmyr/kernel/kernel_nic.h).
 *
 * This file parses the arguments, daemonizes, and handles termination. The exit status is 0 on
 * success, 1 after a message on stderr that describes what to do, or 64 for wrong usage. */
#include <argp.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmyr/kernel/kernel_words.h"
#include "myrd/log.h"
#include "myrd/owner.h"

/* libc finds this variable by its name, so -fvisibility=hidden must not hide it. */
__attribute__((visibility("default"))) const char *argp_program_version = "myrd " NICBARR_VERSION;

/* All owners; the first one is the default. */
static const struct myrd_owner *const owners[] = {&myrd_soft_owner, &myrd_kernel_owner};
enum { OWNERS = sizeof(owners) / sizeof(owners[0]) };

static const struct argp_option common_options[] = {
    {"check", 'c', NULL, 0,
     "Only check whether this host supports such a NIC, print the result, and exit without leaving "
     "anything behind",
     0},
    {"foreground", 'f', NULL, 0, "Stay in the foreground (for systemd)", 0},
    {"socket", 's', "PATH", 0,
     "Where to listen (default: $XDG_RUNTIME_DIR/nicbarr/myrd.sock, or below $TMPDIR or /tmp; with "
     "--kernel: " MYR_KERNEL_SOCKET ")",
     0},
    {"network", 'n', "LIST", 0,
     "Interfaces (eth1) or networks (10.0.0.0/8, fd00::/64) to use, best first, separated by "
     "commas (default: all but loopback and point-to-point ones); --kernel uses the first address "
     "that matches",
     0},
    {"port", 'p', "N", 0, "UDP port (default: any that is free; with --kernel: 7077)", 0},
    {"memory", 'm', "MIB", 0,
     "Limit of the memory that all jobs take together (default: 256; --kernel takes little)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
    "Runs one network interface (NIC) of nicbarr for all MPI jobs of one user on this host, so "
    "that barriers progress while the jobs compute. Jobs that start while it runs use it."
    "\v"
    "All jobs of the user share the NIC's memory and socket; other users are refused. "
    "`nicbarr status' shows its state. SIGTERM terminates it; running jobs continue without it.\n"
    "\n"
    "With --kernel, BPF programs at a network interface execute the barriers of all users' jobs. "
    "This requires CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; once it serves, it keeps only CAP_BPF. "
    "When it is terminated by SIGTERM, barriers in progress on it fail. When it is killed, or "
    "terminated by SIGHUP, they continue, and the next myrd --kernel takes over.";

struct settings {
    struct myrd_options options;
    const struct myrd_owner *owner;
    bool check, foreground;
    int words; /* descriptor returned by go_to_background() */
    int null;  /* /dev/null, to replace the terminal */
};

static long parse_number(const char *argument, long least, long most, struct argp_state *state)
{
    char *end;
    const long value = strtol(argument, &end, 10);
    if (end == argument || '\0' != *end || value < least || value > most) {
        argp_error(state, "'%s' is not a number from %ld to %ld", argument, least, most);
    }
    return value;
}

static error_t choose_owner(int letter, struct settings *settings)
{
    for (size_t o = 0; o < OWNERS; ++o) {
        if (NULL != owners[o]->name && letter == owners[o]->letter) {
            settings->owner = owners[o];
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_myrd_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 'c':
        settings->check = true;
        return 0;
    case 'f':
        settings->foreground = true;
        return 0;
    case 's':
        settings->options.socket = argument;
        return 0;
    case 'n':
        settings->options.nic.network = argument;
        return 0;
    case 'p':
        settings->options.nic.port = (uint16_t)parse_number(argument, 0, 65535, state);
        return 0;
    case 'm':
        settings->options.memory = (uint32_t)parse_number(argument, 1, 1024, state) << 20;
        return 0;
    default:
        return choose_owner(key, settings);
    }
}

/*
 * Continues in a child process with its own session. The parent waits until the child reports
 * whether it has started successfully, and exits with this result. Returns, in the child, the
 * descriptor for this report. */
static int go_to_background(void)
{
    int words[2];
    char word;
    if (pipe2(words, O_CLOEXEC) < 0) {
        perror("myrd: pipe");
        exit(EXIT_FAILURE);
    }
    const pid_t child = fork();
    if (child < 0) {
        perror("myrd: fork");
        exit(EXIT_FAILURE);
    }
    if (0 != child) {
        close(words[1]);
        exit(1 == read(words[0], &word, 1) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(words[0]);
    (void)setsid();
    return words[1];
}

/* Detaches from the terminal, and reports the start. The filter of the confined process still
 * permits this. */
static void report_in_background(const struct settings *settings)
{
    for (int fd = 0; settings->null >= 0 && fd < 3; ++fd) {
        (void)dup2(settings->null, fd);
    }
    (void)!write(settings->words, "", 1);
    close(settings->words);
}

/* Returns a signalfd that is readable when the daemon is to terminate. */
static int make_signal_descriptor(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

static void report_running(const struct settings *settings)
{
    if (!settings->foreground) {
        report_in_background(settings);
    }
}

static enum myr_status serve_clients(const struct settings *settings, int end,
                                     struct myr_error *error)
{
    const struct myrd_owner *owner = settings->owner;
    void *serving;
    enum myr_status status = owner->open(&settings->options, &serving, error);
    if (MYR_OK != status) {
        return status;
    }
    if (!settings->foreground) {
        (void)!chdir("/"); /* so that the daemon does not keep a file system busy */
    }
    status = owner->confine(serving, error);
    if (MYR_OK == status) {
        report_running(settings);
        status = owner->run(serving, end, error);
        if (MYR_OK == status) {
            myrd_log(MYRD_INFO, "terminates on a signal");
        }
    }
    owner->close(serving);
    return status;
}

static enum myr_status check_host(const struct settings *settings, struct myr_error *error)
{
    const enum myr_status status = settings->owner->check(&settings->options, error);
    if (MYR_OK == status) {
        puts("myrd: this host supports such a NIC");
    }
    return status;
}

/* Composes the command line options: one for each owner with a name, then the common ones. */
static void make_options(struct argp_option *options)
{
    for (size_t o = 0; o < OWNERS; ++o) {
        if (NULL != owners[o]->name) {
            *options++ = (struct argp_option){
                .name = owners[o]->name, .key = owners[o]->letter, .doc = owners[o]->help};
        }
    }
    memcpy(options, common_options, sizeof(common_options));
}

static int exit_status(enum myr_status status, const struct myr_error *error)
{
    if (MYR_OK == status) {
        return EXIT_SUCCESS;
    }
    myrd_log(MYRD_ERROR, "%s", error->text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct argp_option options[OWNERS + sizeof(common_options) / sizeof(common_options[0])];
    const struct argp argp = {options, parse_myrd_option, NULL, doc, NULL, NULL, NULL};
    struct settings settings = {.options.memory = UINT32_C(256) << 20, .owner = owners[0]};
    struct myr_error error = {0};
    myrd_log_begin();
    make_options(options);
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    if (settings.check) {
        return exit_status(check_host(&settings, &error), &error);
    }
    settings.words = settings.foreground ? -1 : go_to_background();
    settings.null = settings.foreground ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    /* The signals are blocked before any thread is created, because threads inherit the mask. */
    const int end = make_signal_descriptor();
    return exit_status(serve_clients(&settings, end, &error), &error);
}
