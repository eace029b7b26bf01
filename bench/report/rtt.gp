# SPDX-License-Identifier: BSD-3-Clause
# The round-trip time to several peers at once, and the model that is fitted to it, from rtt.csv.
load 'style.gp'
set xlabel 'peers'
set ylabel 'round trip to all of them (µs)'
set yrange [0:*]
plot ARG1 using 1:(column('rtt_q1')):(column('rtt_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(column('rtt_us')):xtic(counted(column(1))) with linespoints linestyle 1 title 'median, quartiles', \
    '' using 1:'rtt_min_us' with points linestyle 3 title 'minimum', \
    '' using 1:'model_us' with linespoints linestyle 2 pointsize 0.5 title 'model'
