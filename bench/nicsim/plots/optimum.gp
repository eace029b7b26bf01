# SPDX-License-Identifier: BSD-3-Clause
# The best n of dissemination and the best degree of trees, as functions of the number of nodes, from optimum.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'nic_n', 'host_degree')
set ytics (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)
set xlabel 'nodes'
set ylabel 'optimal n, or degree'
set key maxrows 2
plot ARG1 using 1:'nic_n':xtic(1) with steps linestyle 1 notitle, \
    '' using 1:'host_n' with steps linestyle 2 notitle, \
    '' using 1:'nic_degree' with steps linestyle 3 notitle, \
    '' using 1:'host_degree' with steps linestyle 4 notitle, \
    '' using 1:'nic_n' with points linestyle 1 pointsize 1.2 title 'n, NICs', \
    '' using 1:'host_n' with points linestyle 2 pointtype 4 pointsize 1.6 title 'n, hosts', \
    '' using 1:'nic_degree' with points linestyle 3 pointsize 1.2 title 'degree, NICs', \
    '' using 1:'host_degree' with points linestyle 4 pointtype 12 pointsize 1.8 title 'degree, hosts'
