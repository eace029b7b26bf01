# SPDX-License-Identifier: BSD-3-Clause
# The number of packets of a barrier as a function of the number of nodes, from packets.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'nics_pairwise', 'hosts_dissemination:8')
set xlabel 'nodes'
set ylabel 'packets for a barrier'
set key maxrows 4 width -4
stats ARG1 name 'all' nooutput
each = (all_columns - 1) / 2
named(a) = system(sprintf("sed -n '1s/nics_/NICs: /g; s/hosts_/hosts: /g; 1p' '%s' | cut -d , -f %d", ARG1, a))
plot for [a = 2:1 + each] ARG1 using 1:(column(a)):xtic(1) with linespoints linestyle a - 1 dashtype solid title named(a), \
    for [a = 2 + each:all_columns] '' using 1:(column(a)) with linespoints linestyle a - 1 - each dashtype (6, 4) \
        title named(a)
