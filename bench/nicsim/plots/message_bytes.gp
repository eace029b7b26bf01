# SPDX-License-Identifier: BSD-3-Clause
# The latency of a message as a function of its size, from message_bytes.csv.
load 'style.gp'
set xlabel 'bytes'
set logscale xy 2
set xtics 16
set ylabel 'half of a round trip (µs)'
plot ARG1 using 1:'lists_us' with linespoints linestyle 1 title 'lists', \
    '' using 1:'table_us' with linespoints linestyle 2 title 'table'
