# SPDX-License-Identifier: BSD-3-Clause
# The time of a loop whose computation varies by 20 %, from mpi/arrival.csv.
load 'style.gp'
varied(name) = column('variation_percent') == 20 ? column(name) : NaN
eval log_axis('x', 'work_us', 'work_us')
eval log_axis('y', 'nic_us', 'host_us')
set xlabel 'mean computing between barriers (µs)'
set key width -4
set ylabel 'time of a loop (µs)'
plot ARG1 using 1:(varied('nic_us')) with linespoints linestyle 1 title 'NICs', \
    '' using 1:(varied('host_us')) with linespoints linestyle 2 title 'hosts', \
    '' using 1:1 with lines linestyle 9 title 'computing, on average'
