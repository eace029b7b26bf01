# SPDX-License-Identifier: BSD-3-Clause
# The latency of MPI_Bcast as a function of the message size, from bcast_bytes.csv.
load 'style.gp'
set xlabel 'bytes'
set logscale x 2
set ylabel 'until the last node has it (µs)'
set yrange [0:*]
plot ARG1 using 1:'nic_us' with linespoints linestyle 1 title 'NICs', \
    '' using 1:'host_us' with linespoints linestyle 2 title 'hosts'
