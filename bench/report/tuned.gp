# SPDX-License-Identifier: BSD-3-Clause
# The choices of nicbarr tune for a shape, with the factors by which they are faster: a row for each row of
# shape-*.csv.
load 'style.gp'
stats ARG1 using 'factor' name 'factor' nooutput
eval picture(760, 80 + 24 * factor_records)
set lmargin at screen 0.43
set key off
set offsets 0, 0, 0, 0
set grid xtics noytics
set yrange [factor_records - 0.2:-0.8]
set xrange [0:1.6 * (factor_max > 1 ? factor_max : 1)]
set xlabel "Open MPI / what was chosen"
set arrow from 1, graph 0 to 1, graph 1 nohead linestyle 9
plot ARG1 using 'factor':0:(strcol('chosen') eq 'openmpi' ? 0xD55E00 : 0x0072B2):ytic(1) \
        with points pointtype 7 pointsize 0.9 linecolor rgb variable, \
    '' using 'factor':0:'chosen' with labels left offset 1, 0
