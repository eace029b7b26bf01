# SPDX-License-Identifier: BSD-3-Clause
# The latency of the library's barrier and of MPI_Barrier, as functions of the number of processes, from overhead.csv.
load 'style.gp'
eval process_axis
set yrange [0:*]
set ylabel 'barrier latency (µs)'
plot ARG1 using 1:(column('library_q1')):(column('library_q3')) with filledcurves linestyle 3 notitle, \
    '' using 1:(column('mpi_q1')):(column('mpi_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('library_us')):(column('library_q1')):(column('library_q3')):xtic(counted(column(1))) \
        with yerrorlines linestyle 3 title 'library alone', \
    '' using 1:(column('mpi_us')):(column('mpi_q1')):(column('mpi_q3')) with yerrorlines linestyle 1 title 'MPI_Barrier'
