# SPDX-License-Identifier: BSD-3-Clause
# The memory of a group as a function of the number of nodes, with a line for each algorithm, from groups.csv.
load 'style.gp'
eval process_axis
set xlabel 'nodes'
set ylabel 'bytes of a group'
set yrange [0:*]
set key maxrows 3 width -3
stats ARG1 name 'all' nooutput
plot for [a = 2:all_columns] ARG1 using 1:(column(a)):xtic(1) with linespoints linestyle 1 + (a - 2) % 6 \
    linewidth a > 7 ? 1 : 1.8 pointsize a > 7 ? 0.5 : 0.9 title columnheader(a)
