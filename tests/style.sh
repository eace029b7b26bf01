#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rules of this source tree that no other tool looks at; called by test.sh. Each file that breaks the
# rule is named in a line.
#
#     tests/style.sh licences    each source file says its licence in one of its first two lines
set -eu
cd "$(dirname "$0")/.."

licences() {
    local file licence bad=0
    while read -r file; do
        case $file in
            *.bpf.c) licence="BSD-3-Clause OR GPL-2.0-only" ;; # the kernel takes no other
            *) licence=BSD-3-Clause ;;
        esac
        head -n 2 "$file" | grep -qE "SPDX-License-Identifier: $licence( \*/)?\$" || {
            echo "$file: its first lines lack SPDX-License-Identifier: $licence"
            bad=1
        }
    done < <(git ls-files | grep -vE '^\.|\.(md|json|csv|txt)$|^LICENSE$') # no data, no documents
    return $bad
}

case ${1-} in
    licences) "$1" ;;
    *) sed -n '3,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 64 ;;
esac
