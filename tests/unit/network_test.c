/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how the network of a host is identified for the tuning cache
 * (coll_nicbarr/files/network.c). A failure means that the cache is used on hosts whose network
 * differs from that of the measurements. The networks are read from directories that resemble the
 * kernel's.
 *
 * Invariants: the fastest physical interface that is up is named, and a virtual one only if there
 * is no physical one; missing or malformed files mean no network, or unknown speed.
 */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/files/network.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static char system_dir[200];

/* Write a file, and create its parent directories. */
static void put(const char *name, const char *text)
{
    char path[500];
    snprintf(path, sizeof(path), "%s/%s", system_dir, name);
    for (char *slash = strchr(path + strlen(system_dir) + 1, '/'); NULL != slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    crew_file_write(path, text, strlen(text));
}

static void put_interface(const char *name, bool real, const char *state, const char *type,
                          const char *speed)
{
    char file[100];
    snprintf(file, sizeof(file), "class/net/%s/operstate", name);
    put(file, state);
    snprintf(file, sizeof(file), "class/net/%s/type", name);
    put(file, type);
    snprintf(file, sizeof(file), "class/net/%s/speed", name);
    put(file, speed);
    if (real) {
        snprintf(file, sizeof(file), "class/net/%s/device", name);
        put(file, "");
    }
}

static void expect(const char *wanted)
{
    char text[NICBARR_NETWORK_TEXT];
    assert_string_equal(nicbarr_network_name(system_dir, text), wanted);
}

static int set_up(void **state)
{
    (void)state;
    crew_dir_make(system_dir, sizeof(system_dir));
    return 0;
}

static int tear_down(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof(command), "rm -r '%s'", system_dir);
    return system(command);
}

TEST_IN(interfaces, set_up, tear_down)
{
    expect("no network");
    put_interface("lo", false, "unknown\n", "772\n", "");
    put_interface("eth9", true, "down\n", "1\n", "400000\n");
    put_interface("wwan0", true, "up\n", "519\n", "400000\n");
    expect("no network");
    put_interface("veth1", false, "up\n", "1\n", "10000\n");
    put_interface("veth2", false, "up\n", "1\n", "1000\n");
    expect("Ethernet at 10000 Mb/s");
    put_interface("eth0", true, "up\n", "1\n", "-1\n"); /* a virtual machine reports no speed */
    expect("Ethernet at unknown speed");
    put_interface("eth1", true, "up\n", "1\n", "garbage\n");
    expect("Ethernet at unknown speed");
    put_interface("eth2", true, "up\n", "1\n", "1000\n");
    expect("Ethernet at 1000 Mb/s");
    put_interface("ib0", true, "up\n", "32\n", "56000\n");
    expect("InfiniBand at 56000 Mb/s");
}

TEST_IN(rdma_devices, set_up, tear_down)
{
    put_interface("eth0", true, "up\n", "1\n", "25000\n");
    put("class/infiniband/mlx5_0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
    put("class/infiniband/mlx5_1/ports/1/rate", "25 Gb/sec (1X EDR)\n");
    put("class/infiniband/mlx5_2/ports/1/rate", "");
    expect("Ethernet at 25000 Mb/s, RDMA at 25 Gb/sec (1X EDR)");
}

/* The real files of this machine can be read. */
TEST(this_machine)
{
    char text[NICBARR_NETWORK_TEXT], again[NICBARR_NETWORK_TEXT];
    assert_string_equal(nicbarr_network_name("/sys", text), nicbarr_network_name("/sys", again));
    assert_string_not_equal(text, "");
}

/* MPI may be called by threads with a stack of 16 KiB, and nicbarr_network_name() runs deep in such
 * a call.  */
enum { STACK_BYTES = 256 * 1024, STACK_MOST = 10 * 1024, PATTERN = 0x5a };

static void *call_in_thread(void *top)
{
    char text[NICBARR_NETWORK_TEXT];
    *(uint8_t **)top = (uint8_t *)text;
    (void)nicbarr_network_name(system_dir, text);
    return NULL;
}

TEST_IN(little_stack, set_up, tear_down)
{
    pthread_attr_t attributes;
    pthread_t thread;
    uint8_t *stack = NULL, *top = NULL, *touched;
    put_interface("eth0", true, "up\n", "1\n", "25000\n");
    put("class/infiniband/mlx5_0/ports/1/rate", "25 Gb/sec (1X EDR)\n");
    assert_int_equal(posix_memalign((void **)&stack, 4096, STACK_BYTES), 0);
    memset(stack, PATTERN, STACK_BYTES);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, call_in_thread, &top), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    for (touched = stack; PATTERN == *touched; ++touched) {
    }
    assert_in_range(top - touched, 0, STACK_MOST);
    free(stack);
}
