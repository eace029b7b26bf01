## SPDX-License-Identifier: BSD-3-Clause
## Hosts with RDMA devices, in a virtual machine: for tests and benchmarks.
EXTRA_DIST += verbshosts/verbshosts verbshosts/machine.sh verbshosts/image verbshosts/init verbshosts/inside verbshosts/run \
    verbshosts/agent verbshosts/launch

## They are what it says they are. Run it after a change here: it is not among TESTS, as the whole suite
## has no room left in its hour for the machines that it starts.
EXTRA_DIST += verbshosts/tests/verbshosts_test.sh
