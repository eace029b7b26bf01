#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Make `configure` and what it needs, from a fresh checkout.
set -e
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
[ $# = 0 ] || usage
cd "$(dirname "$0")"
mkdir -p build-aux m4
# First libtool's macros. autoreconf would bring them itself, and look at them later; but what it has seen before
# it holds to be new for a second (Autoconf 2.71), and then the tarball lacks these macros.
libtoolize --copy --force --quiet
exec autoreconf --install --force --warnings=all,no-obsolete
