# SPDX-License-Identifier: BSD-3-Clause
# The factor by which MPI_Bcast with a reply of the last process is faster, as a function of the message size, from
# bcast.csv.
load 'style.gp'
set xlabel 'bytes'
set logscale x 2
set ylabel "Open MPI / nicbarr"
set yrange [0:*]
plot ARG1 using 1:(column('factor_q1')):(column('factor_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('factor')):(column('factor_q1')):(column('factor_q3')) \
        with yerrorlines linestyle 1 title 'times faster', \
    1 with lines linestyle 9 title 'no difference'
