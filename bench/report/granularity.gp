# SPDX-License-Identifier: BSD-3-Clause
# The time of a loop of computation and a barrier, as a function of the computation, from granularity.csv.
load 'style.gp'
eval log_axis('x', 'work_us', 'work_us')
eval log_axis('y', 'work_us', 'b_q3')
set xlabel 'computation between barriers (µs of CPU time)'
set ylabel 'time of a loop (µs)'
plot ARG1 using 1:(column('a_q1')):(column('a_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('b_q1')):(column('b_q3')) with filledcurves linestyle 2 notitle, \
    '' using 1:'a_us' with linespoints linestyle 1 title 'nicbarr', \
    '' using 1:'b_us' with linespoints linestyle 2 title "Open MPI", \
    '' using 1:1 with lines linestyle 9 title 'computation'
