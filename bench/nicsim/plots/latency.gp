# SPDX-License-Identifier: BSD-3-Clause
# The latency of the best algorithm of each family, NIC-based and host-based, as a function of the number of nodes, from
# latency.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'nic_pairwise_us', 'host_tree_us')
set xlabel 'nodes'
set ylabel 'latency (µs)'
set key maxrows 3 width -4
kinds = 'pairwise dissemination tree'
plot for [k = 1:3] ARG1 using 1:'nic_'.word(kinds, k).'_us':xtic(1) with linespoints linestyle k dashtype solid \
        title 'NICs: '.word(kinds, k), \
    for [k = 1:3] '' using 1:'host_'.word(kinds, k).'_us' with linespoints linestyle k dashtype (6, 4) \
        title 'hosts: '.word(kinds, k)
