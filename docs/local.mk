## SPDX-License-Identifier: BSD-3-Clause
## The example of libmyr without MPI: as a program that the tests run.
check_PROGRAMS += docs/example
TESTS += docs/example
docs_example_SOURCES = docs/example.c
docs_example_LDADD = libmyr/libmyr.la
