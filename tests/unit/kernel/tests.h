/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the tests of each file, which kernel_test.c runs.
 */
#ifndef TESTS_UNIT_KERNEL_TESTS_H
#define TESTS_UNIT_KERNEL_TESTS_H

/* traces.c */
void traces_of_schedules(void **state);
void traces_of_broadcasts(void **state);
void traces_of_any_tables(void **state);
void all_at_once(void **state);

/* strangers.c */
void frames_for_others(void **state);
void foreign_packets(void **state);
void packets_that_only_look_right(void **state);
void packets_of_vlans(void **state);
void forged_packets(void **state);
void doorbells_to_other_ports(void **state);
void doorbells_with_checksums(void **state);
void forwarded_packets(void **state);

/* members.c */
void wrong_checks(void **state);
void forged_packets_are_dropped(void **state);
void forged_broadcasts_are_dropped(void **state);
void closed_groups_answer_members_only(void **state);

/* broadcasts.c */
void blocks_of_each_length(void **state);
void broadcasts_of_nobody(void **state);

/* users.c */
void doorbells_of_others(void **state);
void a_doorbell_for_each_epoch(void **state);

/* sleepers.c */
void only_the_ringer_is_woken(void **state);
void sleepers_of_other_groups_are_not_woken(void **state);

/* endings.c */
void farewells(void **state);
void farewells_of_broadcasts(void **state);
void failing(void **state);
void failing_on_purpose(void **state);
void failing_elsewhere(void **state);
void without_room_a_group_stays_open(void **state);
void a_group_closed_as_failed_answers_so(void **state);

/* reused.c */
void reused_memory_is_recognized(void **state);

/* processors.c */
void the_last_release_stays(void **state);
void data_are_whole(void **state);
void blocks_are_whole(void **state);

/* stuck.c */
void missing_peers_are_named(void **state);
void a_stale_page_is_renewed(void **state);
void the_timer_runs_while_a_group_waits(void **state);
void stuck_groups_are_reported(void **state);
void scans_back_off_by_their_duration(void **state);
void without_timers(void **state);

/* memory.c */
void page_is_for_reading(void **state);
void buffer_is_for_reading(void **state);
void lines_begin_empty(void **state);
void pages_are_bounded(void **state);
void subordinates_share_pages(void **state);
void users_have_pages_of_their_own(void **state);
void buffers_have_a_quota(void **state);
void indices_are_reused(void **state);

/* neighbours.c */
void unknown_neighbour(void **state);
void doorbells_need_no_reachable_peer(void **state);
void unneeded_hosts_are_evicted(void **state);

/* takeover.c */
void the_next_owner_takes_over(void **state);
void indices_and_owners_survive(void **state);

#endif
