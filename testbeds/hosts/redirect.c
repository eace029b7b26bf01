/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redirect: the fastest switch of nethosts, for measurements. The kernel redirects packets from
 * host to host by their Ethernet addresses; see redirect.bpf.c. There are no faults and no
 * counters.
 *
 *     redirect INTERFACE...
 *
 * Called by nethosts instead of a bridge. Interface number i (from 1) leads to host i. Prints
 * "ready" when hosts may begin. The redirection ends with this process. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbeds/hosts/redirect.skel.h"

enum { TCX_INGRESS = 46, HOSTS = 250 };

static void fail(const char *what)
{
    fprintf(stderr, "redirect: %s: %s\n", what, strerror(errno));
    exit(77);
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

static void attach(const struct bpf_program *program, uint32_t interface)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.link_create.prog_fd = (uint32_t)bpf_program__fd(program);
    attributes.link_create.target_ifindex = interface;
    attributes.link_create.attach_type = TCX_INGRESS;
    if (syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes)) < 0) {
        fail("cannot attach to an interface (the kernel must be Linux 6.6 or newer)");
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 1 + HOSTS) {
        fprintf(stderr, "usage: redirect INTERFACE...\n");
        return 64;
    }
    libbpf_set_print(print_nothing);
    struct redirect *program = redirect__open();
    if (NULL == program) {
        fail("no program");
    }
    for (int i = 1; i < argc; ++i) {
        *(uint32_t *)&program->rodata->port[i] = if_nametoindex(argv[i]);
    }
    if (redirect__load(program) < 0) {
        fail("the kernel rejects the program (is this run as root?)");
    }
    for (int i = 1; i < argc; ++i) {
        attach(program->progs.redirect, program->rodata->port[i]);
    }
    puts("ready");
    fclose(stdout);
    for (;;) {
        pause();
    }
}
