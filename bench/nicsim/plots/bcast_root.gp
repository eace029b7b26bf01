# SPDX-License-Identifier: BSD-3-Clause
# The duration of the root's call of MPI_Bcast as a function of the message size, from bcast_bytes.csv.
load 'style.gp'
set xlabel 'bytes'
set logscale x 2
set ylabel "the root's call (µs)"
set yrange [0:*]
plot ARG1 using 1:'nic_root_us' with linespoints linestyle 1 title 'NICs', \
    '' using 1:'host_root_us' with linespoints linestyle 2 title 'hosts'
