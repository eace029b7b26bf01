# SPDX-License-Identifier: BSD-3-Clause
# The latency of pairwise exchange, simulated and by the closed formulas, as a function of the number of nodes, from
# formula.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'nic_formula_us', 'host_us')
set xlabel 'nodes'
set ylabel 'latency (µs)'
set key maxrows 2
plot ARG1 using 1:'nic_us':xtic(1) with points linestyle 1 pointsize 1.1 title 'NICs, simulated', \
    '' using 1:'nic_formula_us' with lines linestyle 1 title 'formula', \
    '' using 1:'host_us' with points linestyle 2 pointsize 1.1 title 'hosts, simulated', \
    '' using 1:'host_formula_us' with lines linestyle 2 title 'formula'
