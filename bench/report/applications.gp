# SPDX-License-Identifier: BSD-3-Clause
# The times of the synthetic applications, from applications.csv.
load 'style.gp'
set grid noxtics
set bmargin 4 # names have two lines
eval log_axis('y', 'compute_us', 'b_q3')
set offsets 0.5, 0.5, graph 0.1, graph 0.1
set ylabel 'time of a run (µs)'
plot ARG1 using (column(0) - 0.15):(column('compute_us')) \
        with points linestyle 3 pointsize 1.2 title 'computation alone', \
    '' using (column(0) + 0):(column('a_us')):(column('a_q1')):(column('a_q3')):xtic(in_lines(strcol(1))) \
        with yerrorbars linestyle 1 pointsize 1.2 title 'nicbarr', \
    '' using (column(0) + 0.15):(column('b_us')):(column('b_q1')):(column('b_q3')) \
        with yerrorbars linestyle 2 pointsize 1.2 title "Open MPI"
