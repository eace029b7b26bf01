## SPDX-License-Identifier: BSD-3-Clause
## The example of libmyr without MPI: as a program that the tests run.
check_PROGRAMS += docs/example
TESTS += docs/example
docs_example_SOURCES = docs/example.c
docs_example_LDADD = myr/libmyr.la

## Installed as they lie here, so that links between them hold.
nobase_dist_doc_DATA = README.md CONTRIBUTING.md SECURITY.md \
    docs/admin.md \
    docs/compare.md \
    docs/architecture.md \
    docs/design/across-nodes.md docs/design/barrier-states.md docs/design/glossary.md \
    docs/design/measuring.md docs/design/messages.md docs/design/nics.md docs/design/one-node.md \
    docs/cluster-on-a-laptop.md \
    docs/figures.md \
    docs/kernel-nic.md \
    docs/papers.md \
    docs/pictures/report.svg \
    docs/pictures/rivals.svg \
    docs/pictures/summary.svg \
    docs/protocol.md \
    docs/quickstart-cluster.md \
    docs/rdma-nic.md \
    docs/report.md \
    docs/simulator.md \
    docs/tuning-cache.md \
    docs/using.md
