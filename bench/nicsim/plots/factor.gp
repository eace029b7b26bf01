# SPDX-License-Identifier: BSD-3-Clause
# The factor by which NIC-based barriers are faster, as a function of the number of nodes, from latency.csv.
load 'style.gp'
eval process_axis
set xlabel 'nodes'
set ylabel 'hosts / NICs'
set yrange [0:*]
set key maxrows 2
plot ARG1 using 1:'factor':xtic(1) with linespoints linestyle 5 title 'best against best', \
    '' using 1:(column('host_pairwise_us') / column('nic_pairwise_us')) with linespoints linestyle 1 title 'pairwise', \
    '' using 1:(column('host_dissemination_us') / column('nic_dissemination_us')) \
        with linespoints linestyle 2 title 'dissemination', \
    '' using 1:(column('host_tree_us') / column('nic_tree_us')) with linespoints linestyle 3 title 'tree', \
    1 with lines linestyle 9 title 'no difference'
