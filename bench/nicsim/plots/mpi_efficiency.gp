# SPDX-License-Identifier: BSD-3-Clause
# The shortest loop that reaches an efficiency, as a function of the number of nodes, from mpi/efficiency.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'nic_25_us', 'host_90_us')
set xlabel 'nodes'
set ylabel 'shortest loop (µs)'
set key maxrows 2
percents = '25 50 75 90'
plot for [e = 1:4] ARG1 using 1:'nic_'.word(percents, e).'_us':xtic(1) with linespoints linestyle e dashtype solid \
        title 'NICs, 0.'.word(percents, e), \
    for [e = 1:4] '' using 1:'host_'.word(percents, e).'_us' with linespoints linestyle e dashtype (6, 4) \
        title 'hosts, 0.'.word(percents, e)
