# SPDX-License-Identifier: BSD-3-Clause
# Sets $quantiles to functions for the awk programs of the benchmarks: sort(values, n) sorts values[1] to values[n],
# and quantile(values, n, fraction) returns a quantile of these sorted values.
# shellcheck shell=bash
quantiles='
# Returns the value below which the fraction of the n sorted values lies, with linear interpolation.
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
