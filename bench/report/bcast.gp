# SPDX-License-Identifier: BSD-3-Clause
# The time of MPI_Bcast and a reply of the last process, as a function of the message size, from bcast.csv.
load 'style.gp'
set xlabel 'bytes'
set logscale x 2
eval log_axis('y', 'a_q1', 'b_q3')
set ylabel 'broadcast and answer (µs)'
plot ARG1 using 1:(column('a_q1')):(column('a_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('b_q1')):(column('b_q3')) with filledcurves linestyle 2 notitle, \
    '' using 1:(column('a_us')):(column('a_q1')):(column('a_q3')) with yerrorlines linestyle 1 title 'nicbarr', \
    '' using 1:(column('b_us')):(column('b_q1')):(column('b_q3')) with yerrorlines linestyle 2 title "Open MPI"
