# SPDX-License-Identifier: BSD-3-Clause
# The factor by which NIC-based barriers are faster, as a function of the number of processes, from latency.csv.
load 'style.gp'
eval process_axis
set ylabel "Open MPI / nicbarr"
set yrange [0:*]
plot ARG1 using 1:(column('factor_q1')):(column('factor_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('factor')):(column('factor_q1')):(column('factor_q3')):xtic(counted(column(1))) \
        with yerrorlines linestyle 1 title 'times faster', \
    1 with lines linestyle 9 title 'no difference'
