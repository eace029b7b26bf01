# SPDX-License-Identifier: BSD-3-Clause
# What the test scripts share that look at what `nicbarr trace` says. FILE is its output.
# shellcheck shell=bash

# The stages' microseconds are those of all.
adds_up() { # FILE
    awk '$1 ~ /^(call|driver|away|interrupt|stack|program|host|all)$/ && $2 ~ /^[0-9.]+$/ {
            if ($1 == "all") { all = $2 } else { sum += $2; ++stages } }
        END { exit !(stages == 7 && all > 0 && sum > all - 0.4 && sum < all + 0.4) }' "$1"
}
came() { # LEAST FILE: messages in a barrier
    awk -v least="$1" 'match($0, /[0-9.]+ messages came/) { n = substr($0, RSTART) + 0 }
        END { exit !(n > least) }' "$2"
}
