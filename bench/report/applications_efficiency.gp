# SPDX-License-Identifier: BSD-3-Clause
# The efficiency of the synthetic applications, which is the share of their time in which they compute, from
# applications.csv.
load 'style.gp'
set grid noxtics
set bmargin 4 # names have two lines
set offsets 0.2, 0.2, 0, 0
set yrange [0:1]
set boxwidth 0.3
set style fill solid 0.5 border
set ylabel 'efficiency (computation / whole time)'
plot ARG1 using (column(0) - 0.16):(column('a_efficiency')):xtic(in_lines(strcol(1))) with boxes linestyle 1 title 'nicbarr', \
    '' using (column(0) + 0.16):(column('b_efficiency')) with boxes linestyle 2 dashtype solid title "Open MPI"
