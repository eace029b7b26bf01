# SPDX-License-Identifier: BSD-3-Clause
# The amount of computation that is needed for an efficiency, from efficiency.csv.
load 'style.gp'
eval log_axis('y', 'a_work_us', 'b_work_us')
set xlabel 'efficiency (computation / whole time)'
set ylabel 'computation between barriers (µs)'
plot ARG1 using 1:(column('a_work_us')):xtic(1) with linespoints linestyle 1 title 'nicbarr', \
    '' using 1:'b_work_us' with linespoints linestyle 2 title "Open MPI"
