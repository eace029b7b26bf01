/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Passes each packet from a host directly to the end of the cable at the destination host, without
 * a bridge or queue in between. redirect.c attaches this program to the hosts' interfaces.
 *
 * The destination follows from the addresses that nethosts assigns. The last byte of the address of
 * host N is N. Packets to other addresses, and multicast, are dropped. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <bpf/bpf_helpers.h>

enum { DROP = 2 }; /* return value at this hook (tcx); some systems' headers lack it */

const volatile __u32 port[256]; /* indices of the interfaces that lead to the hosts; 0: no host */

SEC("tc")
int redirect(struct __sk_buff *packet)
{
    __u8 to[ETH_ALEN];
    if (bpf_skb_load_bytes(packet, 0, to, sizeof(to)) < 0 || 0 != (to[0] & 1) ||
        0 == port[to[ETH_ALEN - 1]]) {
        return DROP;
    }
    /* The kernel has classified the packet as one for another host, and would drop it at its
     * destination. */
    if (bpf_skb_change_type(packet, PACKET_HOST) < 0) {
        return DROP;
    }
    return (int)bpf_redirect_peer(port[to[ETH_ALEN - 1]], 0);
}

char licensed[] SEC("license") = "Dual BSD/GPL";
