#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Make `configure` and what it needs, from a fresh checkout.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux m4
exec autoreconf --install --force --warnings=all,no-obsolete
