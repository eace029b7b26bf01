# SPDX-License-Identifier: BSD-3-Clause
# The papers that pages cite: short names for use in texts, and page_papers(), which adds a list of full references as
# in docs/papers.md. To be sourced by bash, after page.sh.
# shellcheck shell=bash
buntinas_gm="Buntinas, Panda and Sadayappan, \"Fast NIC-based barrier over Myrinet/GM\""
buntinas_mpi="Buntinas, Panda and Sadayappan, \"Performance benefits of NIC-based barrier on Myrinet/GM\""
hoefler="Hoefler, Mehlan, Mietke and Rehm, \"Fast barrier synchronization for InfiniBand\""
zhang="Zhang's thesis on MPI-NP II+"

page_papers() {
    page_section "Papers"
    page_text "Darius Buntinas, Dhabaleswar K. Panda, P. Sadayappan: Fast NIC-based barrier over Myrinet/GM. In: \
Proceedings of the 15th International Parallel and Distributed Processing Symposium (IPDPS), San Francisco, April 2001. \
doi:10.1109/IPDPS.2001.924993." \
        "Darius Buntinas, Dhabaleswar K. Panda, P. Sadayappan: Performance benefits of NIC-based barrier on \
Myrinet/GM. In the workshop proceedings of the same symposium, pages 166-167, ISBN 0-7695-0990-8." \
        "Torsten Hoefler, Torsten Mehlan, Frank Mietke, Wolfgang Rehm: Fast barrier synchronization for InfiniBand. \
In: Proceedings of the 20th IEEE International Parallel and Distributed Processing Symposium (IPDPS), workshop CAC'06, \
Rhodes, April 2006, ISBN 1-4244-0054-6." \
        "Qianfeng Zhang: MPI collective operations over Myrinet. Master's thesis, University of British Columbia, \
June 2002."
}
