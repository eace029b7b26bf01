# SPDX-License-Identifier: BSD-3-Clause
# The common style of the plots. Scripts begin with `load 'style.gp'`, and are run as
#     gnuplot -c SCRIPT CSV... > SVG
# or, for a PDF, as
#     gnuplot -e "kind = 'pdf'" -c SCRIPT CSV... > PDF
# The colours are those of Okabe and Ito, which colour-blind people can distinguish; points and dashes differ as well.
# The legend is above the plot, so it covers no data. Texts are literal (noenhanced), because names contain
# underscores.
set encoding utf8
# eval picture(WIDTH, HEIGHT): in pixels; 96 pixels are an inch of a PDF
if (!exists('kind')) kind = 'svg'
picture(width, height) = kind eq 'pdf' ? \
    sprintf("set terminal pdfcairo size %.3fin,%.3fin noenhanced font 'Sans,10.5' fontscale 0.75 linewidth 1.8", width / 96.0, height / 96.0) : \
    sprintf("set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,14' background rgb 'white' linewidth 1.2", width, height)
eval picture(600, 420)
set datafile separator comma
set datafile missing NaN
set datafile columnheaders

nicbarr = '#0072B2'
openmpi = '#D55E00'
third = '#009E73'
neutral = '#666666'
set style line 1 linecolor rgb nicbarr pointtype 7 pointsize 0.7 linewidth 1.8
set style line 2 linecolor rgb openmpi pointtype 5 pointsize 0.7 linewidth 1.8 dashtype (9, 4)
set style line 3 linecolor rgb third pointtype 9 pointsize 0.8 linewidth 1.8 dashtype (3, 3)
set style line 4 linecolor rgb '#CC79A7' pointtype 13 pointsize 0.8 linewidth 1.8 dashtype (12, 3, 3, 3)
set style line 5 linecolor rgb '#E69F00' pointtype 11 pointsize 0.8 linewidth 1.8
set style line 6 linecolor rgb '#56B4E9' pointtype 15 pointsize 0.8 linewidth 1.8 dashtype (6, 3)
set style line 9 linecolor rgb neutral linewidth 1.2 dashtype (2, 3)
set style fill transparent solid 0.18 noborder
set errorbars small
set pointintervalbox 0 # by default gnuplot 6 leaves space around points, which hides short error bars

set border 3 linecolor rgb '#444444'
set grid linecolor rgb '#dddddd' linewidth 0.8
set tics nomirror scale 0.6
set format '%g'
set key outside top center horizontal Left reverse samplen 2.5 noopaque
set lmargin 10
set rmargin 3

# Show all data with some margin, even if there is a single point.
set autoscale fix
set offsets graph 0.05, graph 0.05, graph 0.08, graph 0.05

# eval log_axis('y', LOW, HIGH): a logarithmic axis that has tics even if the data spans less than
# a decade. The columns LOW and HIGH of the first CSV contain the smallest and the largest values.
digits(axis, span) = axis eq 'x' ? (span < 20 ? '1 2 5' : span < 300 ? '1 3' : '1') : \
    (span < 5 ? '1 1.2 1.5 2 2.5 3 3.5 4 5 6 7 8 9' : span < 30 ? '1 1.5 2 3 5 7' : span < 1000 ? '1 2 5' : '1')
tics_of(digits) = (tics = '', sum [exponent = -4:8] sum [d = 1:words(digits)] (tics = tics.(tics eq '' ? '' : ', '). \
    sprintf('%g', word(digits, d) * 10.0 ** exponent), 0), tics)
log_axis(axis, low, high) = sprintf("stats ARG1 using '%s' name 'low' nooutput; stats ARG1 using '%s' name 'high' nooutput; \
    set logscale %s 10; eval sprintf('set %stics (%%s)', tics_of(digits('%s', low_min > 0 ? high_max / low_min : 1e9)))", \
    low, high, axis, axis, axis)

# An axis of numbers of processes. Plots use xtic(counted(column(1))), so that each measured number
# has a tic, and some of the tics have labels.
process_axis = "set logscale x 2; set xlabel 'processes'"
counted(n) = n <= 8 || int(n) % 4 == 0 ? sprintf('%d', n) : ''

# Splits a name of two words with a hyphen into two lines, for the label of a tic.
in_lines(name) = (hyphen = strstrt(name, '-'), hyphen ? name[1:hyphen]."\n".name[hyphen + 1:*] : name)
