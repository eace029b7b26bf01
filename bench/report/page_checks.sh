# SPDX-License-Identifier: BSD-3-Clause
# Checks for the tests of commands that write a page (page.sh). To be sourced by bash, in a test that
# defines a function `run ARGUMENT...`, which runs the command and sets status, out and err.
# shellcheck shell=bash
page_checks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/tap.sh
. "$page_checks/../../tests/tap.sh"

check() { # NAME COMMAND...
    local name=$1
    shift
    "$@" > /dev/null
    verdict $? "$name"
}
count_of() { # PATTERN FILE
    grep -o -- "$1" "$2" | wc -l
}

# Checks the properties that a page with PLOTS plots must have.
is_page() { # DIRECTORY PLOTS
    local page=$1/index.html total=$2 prefixes
    if gnuplot -e 'set terminal pdfcairo' 2> /dev/null; then
        [ "$(find "$1" -name '*.pdf' -size +1k | wc -l)" -eq "$total" ]
        verdict $? "$1: as PDF, too"
    fi
    if command -v xmllint > /dev/null; then
        check "$1: well-formed" xmllint --noout --nonet "$page"
    fi
    [ "$(count_of '<svg' "$page")" -eq "$total" ] && [ "$(count_of '</svg>' "$page")" -eq "$total" ]
    verdict $? "$1: $total plots are in it"
    [ "$(find "$1" -name '*.svg' | wc -l)" -eq "$total" ]
    verdict $? "$1: they are beside it, too"
    if command -v python3 > /dev/null && [ "$total" -gt 0 ]; then
        ! find "$1" -name '*.svg' -exec python3 "$page_checks/svg_texts.py" {} + 2>&1 | sed 's/^/# /' | grep .
        verdict $? "$1: their texts can be read"
    fi
    # (Only one id of each plot is counted, because gnuplot uses some ids several times in a plot.)
    prefixes=$(grep -o 'id="plot-[a-z0-9-]*gnuplot_canvas"' "$page" | sort -u | wc -l)
    [ "$prefixes" -eq "$total" ] && ! grep -Eq " id=[\"'](gp|gnuplot)|href=[\"']#gp|url\(#gp" "$page"
    verdict $? "$1: names in them are their own"
    ! grep -Ei "<(script|link|iframe|img|object|embed)|(src|href)=[\"'][^\"'#]*:|@import|url\(['\"]?[^#'\")]*[:/]" "$page"
    verdict $? "$1: nothing from elsewhere"
    ! grep -Eo "href=[\"'][^\"'#]+" "$page" | sed "s/href=.//" | while read -r file; do
        [ -s "$1/$file" ] || echo "$file"
    done | grep .
    verdict $? "$1: its links lead to files"
    ! find "$1" -name '*.csv' -printf '%P\n' | while read -r file; do
        grep -q "href=\"$file\"" "$page" && grep -qF "<summary>$file</summary>" "$page" || echo "$file"
    done | grep .
    verdict $? "$1: all CSVs are in it"
    [ -z "$(find "$1" -name '*.new' -o -name '*.body' -o -name '.said')" ]
    verdict $? "$1: nothing else is left"
}
# Checks the pages of these directories in a browser, in a wide and a narrow window, with light and dark
# colours.
are_readable() { # DIRECTORY...
    local status
    python3 "$page_checks/open_pages.py" "${@/%//index.html}" > complaints 2>&1
    status=$?
    if [ $status = 77 ]; then
        count=$((count + 1))
        echo "ok $count - in a browser # SKIP $(tail -n 1 complaints)"
    else
        sed 's/^/# /' complaints
        verdict $status "in a browser"
    fi
}
says() { # DIRECTORY PATTERN...: each is on the page
    local page=$1/index.html expected
    shift
    for expected; do
        check "it says $expected" grep -q "$expected" "$page"
    done
}

# Checks that the command refuses directories and files that are not its own, and writes into the former with
# --force.
directories() { # WHOSE ARGUMENT...: with these arguments the command must be fast
    local whose=$1
    shift
    mkdir foreign
    echo mine > foreign/index.html
    run "$@" --output foreign
    refuses "a directory of somebody else's" "'foreign' has files that are not $whose"
    check "which is as it was" grep -qx mine foreign/index.html
    echo mine > foreign/notes
    run "$@" --output foreign --force
    [ "$status" -eq 0 ] && grep -qx mine foreign/notes && grep -q '<svg' foreign/index.html
    verdict $? "with --force"
    run "$@" --output foreign/notes
    refuses "a file in its place" "is not a directory"
    run "$@" --output foreign/notes/below
    refuses "a directory that cannot be" "cannot write"
}

usage() { # PATTERN ARGUMENT...: such arguments are refused
    local pattern=$1
    shift
    run "$@"
    refuses "refused: ${*-}" "$pattern" 64
}
