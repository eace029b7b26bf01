# SPDX-License-Identifier: BSD-3-Clause
# The memory of a NIC for NIC-based and for host-based barriers, as a function of the number of nodes, from ports.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'group_pairwise', 'port_pairwise')
set xlabel 'nodes'
set ylabel 'bytes'
set key maxrows 3 width -4
algorithms = 'pairwise dissemination:4 tree:8'
named(kind, a) = kind.'_'.word(algorithms, a)
plot for [a = 1:3] ARG1 using 1:(column(named('connections', a)) + column(named('port', a))):xtic(1) \
        with linespoints linestyle a dashtype (6, 4) title 'hosts: '.word(algorithms, a), \
    for [a = 1:3] '' using 1:(column(named('group', a))) with linespoints linestyle a dashtype solid \
        title 'NICs: '.word(algorithms, a)
