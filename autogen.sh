#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Generate `configure` and its auxiliary files in a fresh checkout.
set -e
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
[ $# = 0 ] || usage
cd "$(dirname "$0")"
mkdir -p build-aux m4
# libtool's macros first. autoreconf would copy them itself and check them later, but Autoconf 2.71 considers
# what it has seen before up to date for a second, and then the tarball lacks these macros.
libtoolize --copy --force --quiet
exec autoreconf --install --force --warnings=all,no-obsolete
