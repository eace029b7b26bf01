## SPDX-License-Identifier: BSD-3-Clause
## Hosts with RDMA devices, in a virtual machine: for tests and benchmarks.
EXTRA_DIST += verbshosts/verbshosts verbshosts/image verbshosts/init verbshosts/inside verbshosts/run \
    verbshosts/agent verbshosts/launch

## They are what it says they are.
TESTS += verbshosts/tests/verbshosts_test.sh
EXTRA_DIST += verbshosts/tests/verbshosts_test.sh
