# SPDX-License-Identifier: BSD-3-Clause
# The latency of MPI_Barrier for every number of nodes, from mpi/latency.csv.
load 'style.gp'
set xlabel 'nodes'
set xtics 2
set ylabel 'latency (µs)'
set yrange [0:*]
plot ARG1 using 1:'nic_us' with linespoints linestyle 1 title 'NICs', \
    '' using 1:'host_us' with linespoints linestyle 2 title 'hosts'
