# SPDX-License-Identifier: BSD-3-Clause
# The latency of a barrier as a function of the number of processes, from latency.csv.
load 'style.gp'
eval process_axis
eval log_axis('y', 'a_q1', 'b_q3')
set ylabel 'barrier latency (µs)'
plot ARG1 using 1:(column('a_q1')):(column('a_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('b_q1')):(column('b_q3')) with filledcurves linestyle 2 notitle, \
    '' using 1:(column('a_us')):(column('a_q1')):(column('a_q3')):xtic(counted(column(1))) \
        with yerrorlines linestyle 1 title 'nicbarr', \
    '' using 1:(column('b_us')):(column('b_q1')):(column('b_q3')) with yerrorlines linestyle 2 title "Open MPI"
