#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Generate `configure` and its auxiliary files in a fresh checkout.
set -e
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
[ $# = 0 ] || usage
cd "$(dirname "$0")"
mkdir -p build-aux m4
# libtool's macros are copied first. autoreconf would also copy them, but within the same second Autoconf
# 2.71 does not detect that files have changed, so the tarball may lack these macros.
libtoolize --copy --force --quiet
exec autoreconf --install --force --warnings=all,no-obsolete
