# SPDX-License-Identifier: BSD-3-Clause
# The simulated values as a function of the papers' values, from figures.csv.
load 'style.gp'
eval picture(600, 600)
used(use) = strcol('use') eq use ? column('simulated') : NaN
set logscale xy 10
set xrange [1:3000]
set yrange [1:3000]
set offsets 0, 0, 0, 0
set size square
set xlabel 'the paper (µs, or times)'
set ylabel 'simulated (µs, or times)'
plot x with lines linestyle 9 dashtype solid title 'equal', \
    1.1 * x with lines linestyle 9 title '± 10 %', \
    x / 1.1 with lines linestyle 9 notitle, \
    ARG1 using (column('paper')):(used('predicted')) with points linestyle 2 pointtype 4 pointsize 0.7 title 'predicted', \
    '' using (column('paper')):(used('fitted')) with points linestyle 1 title 'fitted'
