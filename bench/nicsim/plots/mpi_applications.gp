# SPDX-License-Identifier: BSD-3-Clause
# The factor by which synthetic applications run faster, as a function of the number of nodes, from mpi/applications.csv.
load 'style.gp'
of(name) = strcol('application') eq name ? column('factor') : NaN
eval process_axis
set xlabel 'nodes'
set ylabel 'hosts / NICs'
set yrange [0.9:*]
names = 'communication-intensive mixed computation-intensive'
set key maxrows 2 width -4
plot for [a = 1:3] ARG1 using 2:(of(word(names, a))):xtic(2) with linespoints linestyle a title word(names, a), \
    1 with lines linestyle 9 title 'no difference'
