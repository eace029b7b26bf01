# SPDX-License-Identifier: BSD-3-Clause
# Builds use Debian's ccache, if it is installed. To be sourced by scripts that build.
# shellcheck shell=bash
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
