# SPDX-License-Identifier: BSD-3-Clause
# The duration of a receive of an unexpected message as a function of the number of nodes, from message_nodes.csv.
load 'style.gp'
set xlabel 'nodes'
set xtics 2
set ylabel 'receive (µs)'
set yrange [0:*]
plot ARG1 using 1:'lists_named_16_us' with linespoints linestyle 1 title 'lists, named source', \
    '' using 1:'lists_open_16_us' with linespoints linestyle 2 title 'lists, any source', \
    '' using 1:'table_open_16_us' with linespoints linestyle 3 title 'table'
