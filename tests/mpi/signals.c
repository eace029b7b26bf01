/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the threads which a component starts block all signals. Otherwise such a thread would
 * take a signal for which the program waits (sigwait, signalfd), or would run its default action
 * and end the program.
 *
 * Linux shows each thread's name and blocked signals (proc(5)).
 */
#include "common.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *name = "nicbarr";
static long least = 1;

static const struct test_option options[] = {
    {"--name", OPTION_TEXT, &name, "of the threads to check (nicbarr)"},
    {"--least", OPTION_LONG, &least, "least number of them in each process (1)"},
};

enum { TEXT = 300 };

/* Read the value of a line "key:\tvalue" of the thread's status. Returns false if there is none. */
static bool read_status(const char *thread, const char *key, char value[TEXT])
{
    char path[2 * TEXT], line[TEXT];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof(line), file)) {
        const size_t length = strlen(key);
        found = strncmp(line, key, length) == 0 && line[length] == ':';
        if (found)
            sscanf(line + length + 1, " %299s", value);
    }
    if (file)
        fclose(file);
    return found;
}

static void check_thread(const char *thread)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD, SIGIO};
    char text[TEXT];
    unsigned long long blocked = 0;
    TEST_CHECK(read_status(thread, "SigBlk", text) && sscanf(text, "%llx", &blocked) == 1,
               "signals", "thread %s has no SigBlk", thread);
    for (size_t i = 0; i < TEST_COUNT(wanted); i++)
        TEST_CHECK(blocked >> (wanted[i] - 1) & 1, "signals", "thread %s does not block %s", thread,
                   strsignal(wanted[i]));
}

int main(int argc, char **argv)
{
    test_begin(argc, argv, "signals", options, TEST_COUNT(options), MPI_THREAD_SINGLE);
    long threads = 0;
    DIR *dir = opendir("/proc/self/task");
    TEST_CHECK(dir, "signals", "the threads cannot be listed");
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char called[TEXT];
        if (entry->d_name[0] != '.' && read_status(entry->d_name, "Name", called) &&
            strcmp(called, name) == 0) {
            check_thread(entry->d_name);
            threads++;
        }
    }
    closedir(dir);
    TEST_CHECK(threads >= least, "signals", "%ld threads are called %s, not %ld", threads, name,
               least);
    return test_end("");
}
