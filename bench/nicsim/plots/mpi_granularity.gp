# SPDX-License-Identifier: BSD-3-Clause
# The time of a loop as a function of the computation in it, from mpi/granularity.csv.
load 'style.gp'
set xlabel 'computing between barriers (µs)'
set ylabel 'time of a loop (µs)'
set yrange [0:*]
plot ARG1 using 1:'nic_us' with linespoints linestyle 1 title 'NICs', \
    '' using 1:'host_us' with linespoints linestyle 2 title 'hosts', \
    '' using 1:1 with lines linestyle 9 title 'computing'
