# SPDX-License-Identifier: BSD-3-Clause
# The time of a loop whose processes arrive at different times, for the largest variation in arrival.csv.
load 'style.gp'
stats ARG1 using 'variation_percent' name 'variation' nooutput
varied(name) = column('variation_percent') == variation_max ? column(name) : NaN
with_variation(name) = sprintf('%s, ±%g %%', name, variation_max)
eval log_axis('x', 'work_us', 'work_us')
eval log_axis('y', 'a_q1', 'b_q3')
set xlabel 'mean computation between barriers (µs)'
set ylabel 'time of a loop (µs)'
plot ARG1 using 1:(varied('a_q1')):(varied('a_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(varied('b_q1')):(varied('b_q3')) with filledcurves linestyle 2 notitle, \
    '' using 1:(varied('a_us')) with linespoints linestyle 1 title with_variation('nicbarr'), \
    '' using 1:(varied('b_us')) with linespoints linestyle 2 title with_variation("Open MPI")
