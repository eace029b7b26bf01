# SPDX-License-Identifier: BSD-3-Clause
# The factor by which NIC-based barriers are faster, as a function of the number of nodes, with a line for each machine, from
# factors.csv.
load 'style.gp'
eval process_axis
set xlabel 'nodes'
set ylabel "hosts' best / NICs' best"
set logscale y 2
set ytics (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)
stats ARG1 name 'all' nooutput
set key maxrows 2
plot for [m = 2:all_columns] ARG1 using 1:(column(m)):xtic(1) with linespoints linestyle 1 + (m - 2) % 6 \
        title columnheader(m), \
    1 with lines linestyle 9 title 'no difference'
