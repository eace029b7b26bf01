# SPDX-License-Identifier: BSD-3-Clause
# Makes Open MPI use the components that ./demo.sh or ./test.sh have built in this checkout. To be
# sourced in this directory (. ./env.sh), or by bash in any directory. If nicbarr is installed,
# source PREFIX/share/nicbarr/env.sh instead.
# shellcheck shell=sh disable=SC1091,SC3028,SC3054
. "$(dirname "${BASH_SOURCE:-./env.sh}")/_install/share/nicbarr/env.sh"
