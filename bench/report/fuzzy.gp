# SPDX-License-Identifier: BSD-3-Clause
# The time of MPI_Ibarrier, computation and MPI_Wait, as a function of the computation, from fuzzy.csv.
load 'style.gp'
set xlabel 'computation during the barrier (µs)'
set ylabel 'barrier and computation (µs)'
set yrange [0:*]
plot ARG1 using 1:(column('a_q1')):(column('a_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('b_q1')):(column('b_q3')) with filledcurves linestyle 2 notitle, \
    '' using 1:'blocking_us' with lines linestyle 3 title 'nicbarr, one after the other', \
    '' using 1:'a_us' with linespoints linestyle 1 title 'nicbarr', \
    '' using 1:'b_us' with linespoints linestyle 2 title "Open MPI", \
    '' using 1:'work_alone_us' with lines linestyle 9 title 'computation alone'
