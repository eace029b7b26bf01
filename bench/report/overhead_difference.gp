# SPDX-License-Identifier: BSD-3-Clause
# The time that MPI adds to the library's barrier, as a function of the number of processes, from overhead.csv.
load 'style.gp'
eval process_axis
set ylabel 'MPI_Barrier - library alone (µs)'
plot ARG1 using 1:(column('overhead_q1')):(column('overhead_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('overhead_us')):(column('overhead_q1')):(column('overhead_q3')):xtic(counted(column(1))) \
        with yerrorlines linestyle 1 title 'overhead of MPI', \
    0 with lines linestyle 9 notitle
