# SPDX-License-Identifier: BSD-3-Clause
# The latency of host-based dissemination, simulated and by the LoP model, as a function of the number of nodes, from
# lop.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'n1_lop_us', 'n1_us')
set xlabel 'nodes'
set ylabel 'latency (µs)'
ways = '1 2 4 8'
plot for [w = 1:4] ARG1 using 1:'n'.word(ways, w).'_us':xtic(1) with points linestyle w pointsize 1.1 \
        title 'n = '.word(ways, w), \
    for [w = 1:4] '' using 1:'n'.word(ways, w).'_lop_us' with lines linestyle w notitle
