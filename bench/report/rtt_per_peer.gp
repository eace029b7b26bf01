# SPDX-License-Identifier: BSD-3-Clause
# The round-trip time to several peers at once, divided by the number of peers, from rtt.csv.
load 'style.gp'
per_peer(name) = column(name) / column('peers')
set xlabel 'peers'
set ylabel 'round trip / peers (µs)'
set yrange [0:*]
plot ARG1 using 1:(per_peer('rtt_q1')):(per_peer('rtt_q3')) with filledcurves linestyle 1 notitle, \
    '' using 1:(per_peer('rtt_us')):xtic(counted(column(1))) with linespoints linestyle 1 title 'median, quartiles', \
    '' using 1:(per_peer('rtt_min_us')) with points linestyle 3 title 'minimum', \
    '' using 1:(per_peer('model_us')) with linespoints linestyle 2 pointsize 0.5 title 'model'
