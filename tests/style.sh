#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks rules of this source tree that no other tool checks. It prints a line with the name of the file for each
# violation. Called by test.sh:
#
#     tests/style.sh licences    each source file states its licence in one of its first two lines
#     tests/style.sh documents   lines of Markdown have at most 100 columns, tables excepted; files and headings that
#                                they link to exist; they state the present wire version; every algorithm is
#                                described where users look for it
#     tests/style.sh sizes       no C file outside tests has more than 600 lines, no function more than 60
set -eu
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../tools/usage.sh"
cd "$(dirname "$0")/.."

licences() {
    local files bad
    files=$(git ls-files | grep -vE '^\.|\.(md|json|csv|svg|txt)$|^(LICENSE|VERSION|packaging/debian/(changelog|copyright|source/format))$' | sort) # no data, no documents
    bad=$(xargs awk '
        FNR <= 2 {
            licence = "BSD-3-Clause"
            if (FILENAME ~ /\.bpf\.c$|^firmware\/kernel\/program\//) # the kernel loads no programs with other licences
                licence = "BSD-3-Clause OR GPL-2.0-only"
            if ($0 ~ "SPDX-License-Identifier: " licence "( [*]/)?$")
                print FILENAME
        }' <<< "$files" | sort | comm -23 <(echo "$files") -)
    [ -z "$bad" ] || { echo "no line SPDX-License-Identifier: LICENCE among the first two of:" && echo "$bad" && return 1; }
}

narrow() { ! git ls-files -z '*.md' | LC_ALL=C.UTF-8 xargs -0 grep -nHE '^[^|].{100}'; }

# Anchors are derived from headings as GitHub derives them.
linked() {
    git ls-files -z '*.md' | xargs -0 python3 -c '
import os, re, sys

def headings(path):
    text = re.sub(r"(?ms)^```.*?^```", "", open(path).read())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"(?m)^#+ +(.*?) *$", text)}

broken = 0
for page in sys.argv[1:]:
    for link in re.findall(r"\]\(\s*([^)\s]+)\s*\)", open(page).read()):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        path = os.path.join(os.path.dirname(page), name) if name else page
        if not os.path.exists(path) or (anchor and anchor not in headings(path)):
            print(f"{page}: the link {link} leads nowhere")
            broken = 1
sys.exit(broken)'
}

names() { # DOCUMENT TEXT
    grep -qF "$2" "$1" || {
        echo "$1: lacks '$2', as firmware/wire.h has another version"
        return 1
    }
}

# CONTRIBUTING.md shows the first bytes of an ASK on x86: the magic number, the version and the type.
of_this_wire() {
    local version first bad=0
    version=$(sed -n 's/.*MCP_WIRE_VERSION = \([0-9]*\).*/\1/p' firmware/wire.h)
    first=$(printf '594d %02x02' "$version")
    names docs/protocol.md "| version | $version |" || bad=1
    names CONTRIBUTING.md "\`$first\`: the magic number, version $version," || bad=1
    return $bad
}

algorithms() {
    local name file names bad=0
    mapfile -t names < <(sed -nE 's/^ *\[NICBARR_[A-Z]+\] = \{"([a-z]+)".*/\1/p' coll_nicbarr/schedule.c)
    for name in "${names[@]}"; do
        for file in tools/report_text.c docs/report.md docs/using.md; do
            grep -qw "$name" "$file" || {
                echo "$file: lacks the algorithm '$name'"
                bad=1
            }
        done
    done
    return $bad
}

documents() {
    local bad=0
    narrow || bad=1
    linked || bad=1
    of_this_wire || bad=1
    algorithms || bad=1
    return $bad
}

# In clang-format's layout, a function lies between a { and a } in the first column.
sizes() {
    git ls-files '*.[ch]' | grep -vE '(^|/)tests/' | xargs awk '
        FNR == 1 { begin = 0 }
        FNR == 601 { print FILENAME ": more than 600 lines"; bad = 1 }
        /^{/ { begin = FNR }
        /^}/ {
            if (begin && FNR - begin > 61) { print FILENAME ":" begin ": a function of more than 60 lines"; bad = 1 }
            begin = 0
        }
        END { exit bad }'
}

case ${1-} in
    licences | documents | sizes) "$1" ;;
    *) usage ;;
esac
