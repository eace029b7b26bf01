# SPDX-License-Identifier: BSD-3-Clause
# Functions for awk in the benchmarks' scripts, in $quantiles: sort(values, n), and quantile(values, n, fraction) of
# the sorted values[1] to values[n].
# shellcheck shell=bash
quantiles='
# The value below which a fraction of the n sorted values lies.
function quantile(values, n, fraction,   place, low) {
    place = 1 + fraction * (n - 1); low = int(place)
    return low >= n ? values[n] : values[low] + (place - low) * (values[low + 1] - values[low])
}
function sort(values, n,   i, j, v) {
    for (i = 2; i <= n; i++) {
        v = values[i]
        for (j = i - 1; j >= 1 && values[j] > v; j--) values[j + 1] = values[j]
        values[j + 1] = v
    }
}
'
