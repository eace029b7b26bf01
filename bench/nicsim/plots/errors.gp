# SPDX-License-Identifier: BSD-3-Clause
# The relative errors of the simulator as a function of the papers' values, from figures.csv.
load 'style.gp'
eval picture(600, 600)
used(use) = strcol('use') eq use ? column('error_percent') : NaN
set logscale x 10
set xlabel 'the paper (µs, or times)'
set ylabel 'error of the simulated figure (%)'
set yrange [-30:30]
plot 10 with lines linestyle 9 title '± 10 %', \
    -10 with lines linestyle 9 notitle, \
    0 with lines linestyle 9 dashtype solid notitle, \
    ARG1 using (column('paper')):(used('predicted')) with points linestyle 2 pointtype 4 pointsize 0.7 title 'predicted', \
    '' using (column('paper')):(used('fitted')) with points linestyle 1 title 'fitted'
