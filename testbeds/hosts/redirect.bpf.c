/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * redirect.c has the kernel run this for each packet that comes from a host. The packet is handed
 * to the host that it is for, at that host's end of the cable. No bridge and no queue is in
 * between.
 *
 * Hosts have the addresses that nethosts gives them: host N's last byte is N. Packets for anybody
 * else, or for all, end here.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <bpf/bpf_helpers.h>

enum { DROP = 2 }; /* what a program at this hook (tcx) says; newer than some systems' headers */

const volatile __u32 port[256]; /* numbers of the interfaces that lead to hosts; 0: there is none */

SEC("tc")
int redirect(struct __sk_buff *packet)
{
    __u8 to[ETH_ALEN];
    if (bpf_skb_load_bytes(packet, 0, to, sizeof(to)) < 0 || 0 != (to[0] & 1) ||
        0 == port[to[ETH_ALEN - 1]]) {
        return DROP;
    }
    /* It had come to us, who are not meant. */
    if (bpf_skb_change_type(packet, PACKET_HOST) < 0) {
        return DROP;
    }
    return (int)bpf_redirect_peer(port[to[ETH_ALEN - 1]], 0);
}

char licensed[] SEC("license") = "Dual BSD/GPL";
