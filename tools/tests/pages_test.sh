#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the tests of commands that write HTML pages do not detect unreadable pages. For each kind of fault
# that bench/report/open_pages.py reports, it must find the fault in a page that contains no other, and it must find
# none in a correct page.
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v chromium > /dev/null || { echo "there is no chromium"; exit 77; }
# shellcheck source=tests/tap.sh
. "$here/../../tests/tap.sh"

look() { # PAGE
    python3 "$here/../../bench/report/open_pages.py" "$1" > out 2> err
    status=$?
}
page() { # BODY
    printf '<!DOCTYPE html><html><head><meta name="viewport" content="width=device-width"/></head><body>%s</body></html>' \
        "$1" > page.html
}
plot() { # two texts, 200 pixels wide in any window
    page "<svg width=\"200\" height=\"100\" viewBox=\"0 0 200 100\" style=\"overflow: visible\" font-size=\"14\">$1</svg>"
}
finds() { # NAME PATTERN TIMES
    look page.html
    [ "$status" = 1 ] && [ ! -s err ] && [ "$(grep -c -- "$2" out)" = "$3" ] && [ "$(wc -l < out)" = "$3" ]
    verdict $? "$1"
}

plot '<text x="10" y="20">one</text><text x="10" y="36">below it</text>'
look page.html
[ "$status" = 0 ] && [ ! -s out ] && [ ! -s err ]
verdict $? "a page without faults"
plot '<text x="10" y="20">one</text><text x="20" y="22">two</text>'
finds "a text on another" "'two' runs into 'one'" 4
plot '<text x="180" y="20">a long one</text>'
finds "a text that is cut off" "'a long one' is cut off" 4
plot '<text x="10" y="20" font-size="7">tiny</text>'
finds "a text that is too small" "'tiny' is 7.0 pixels high" 4
plot ''
finds "a plot without a text" "has no text" 4
page '<p style="width: 600px">wide</p>'
finds "a page that is too wide for a narrow window" "400 wide, .*: the page is 6[0-9]* pixels wide" 2
page '<p style="color: #ccc; background: #fff">pale</p>'
finds "a text that hardly stands out" "'pale' stands out by 1.6 only" 4
page '<style>@media (prefers-color-scheme: dark) { body { background: #000; } }</style><p>unseen</p>'
finds "one that does not where pages are dark" "dark: 'unseen' stands out by 1.0 only" 2
page 'good'
look missing.html
refuses "no page" "missing.html: net::ERR_FILE_NOT_FOUND"

finish
