# SPDX-License-Identifier: BSD-3-Clause
# The factor by which the synthetic applications run faster, from applications.csv.
load 'style.gp'
set grid noxtics
set bmargin 4 # names have two lines
set offsets 0.2, 0.2, graph 0.05, 0
set yrange [0:*]
set style fill solid 0.5 border
set ylabel "Open MPI / nicbarr"
plot ARG1 using (column(0)):(column('factor')):(column('factor_q1')):(column('factor_q3')):(0.35):xtic(in_lines(strcol(1))) \
        with boxerrorbars linestyle 1 \
    title 'times faster', \
    1 with lines linestyle 9 title 'no difference'
