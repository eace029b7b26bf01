# SPDX-License-Identifier: BSD-3-Clause
# The factor by which NIC-based broadcasts are faster, as a function of the number of nodes, from bcast_nodes.csv.
load 'style.gp'
set xlabel 'nodes'
set xtics 2
set ylabel 'hosts / NICs'
set yrange [0:*]
plot ARG1 using 1:(column('host_64_us') / column('nic_64_us')) with linespoints linestyle 1 title '64 bytes', \
    '' using 1:(column('host_512_us') / column('nic_512_us')) with linespoints linestyle 2 title '512 bytes', \
    1 with lines linestyle 9 title 'no difference'
