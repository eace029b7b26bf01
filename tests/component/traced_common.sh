# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts that check the output of `nicbarr trace`, FILE.
# shellcheck shell=bash

# Checks that the microseconds of the stages add up to the whole.
adds_up() { # FILE
    awk '$1 ~ /^(call|driver|away|interrupt|stack|program|host|all)$/ && $2 ~ /^[0-9.]+$/ {
            if ($1 == "all") { all = $2 } else { sum += $2; ++stages } }
        END { exit !(stages == 7 && all > 0 && sum > all - 0.4 && sum < all + 0.4) }' "$1"
}
came() { # LEAST FILE: there are more than this many messages per barrier
    awk -v least="$1" 'match($0, /[0-9.]+ messages received/) { n = substr($0, RSTART) + 0 }
        END { exit !(n > least) }' "$2"
}
