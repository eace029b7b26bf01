# SPDX-License-Identifier: BSD-3-Clause
# Use the components that ./demo.sh or ./test.sh have built in this checkout; to be sourced from its
# directory (bash: from anywhere):  . ./env.sh
# An installed nicbarr has its own: PREFIX/share/nicbarr/env.sh
# shellcheck shell=sh disable=SC1091,SC3028,SC3054
. "$(dirname "${BASH_SOURCE:-./env.sh}")/_install/share/nicbarr/env.sh"
