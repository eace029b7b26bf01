# SPDX-License-Identifier: BSD-3-Clause
# The time that NIC-based barriers save in each loop, with a line for each variation, from mpi/arrival.csv.
load 'style.gp'
varied(percent) = column('variation_percent') == percent ? column('difference_us') : NaN
eval log_axis('x', 'work_us', 'work_us')
set xlabel 'mean computing between barriers (µs)'
set ylabel 'hosts - NICs (µs)'
set yrange [0:*]
plot for [v = 0:4] ARG1 using 1:(varied(5 * v)) with linespoints linestyle 1 + v title sprintf('±%d %%', 5 * v)
