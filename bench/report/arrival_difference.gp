# SPDX-License-Identifier: BSD-3-Clause
# The time that NIC-based barriers save in each loop, with a line for each variation in arrival.csv.
load 'style.gp'
# The distinct variations in the file.
variations = ' '
stats ARG1 using (v = column('variation_percent'), seen = strstrt(variations, sprintf(' %g ', v)), \
    variations = seen ? variations : variations.sprintf('%g ', v), v) nooutput
varied(v, name) = column('variation_percent') == word(variations, v) ? column(name) : NaN
eval log_axis('x', 'work_us', 'work_us')
set xlabel 'mean computation between barriers (µs)'
set ylabel "Open MPI - nicbarr (µs)"
plot for [v = 1:words(variations)] ARG1 using 1:(varied(v, 'difference_us')):(varied(v, 'difference_q1')): \
    (varied(v, 'difference_q3')) with yerrorlines linestyle 1 + (v - 1) % 6 title '±'.word(variations, v).' %', \
    0 with lines linestyle 9 notitle
