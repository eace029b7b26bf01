/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests, by the file that has them; kernel_test.c runs them.
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
void only_members_are_believed(void **state);
void only_members_data_are_believed(void **state);
void only_members_broadcasts_are_believed(void **state);
void closed_groups_answer_members_only(void **state);

/* broadcasts.c */
void blocks_of_each_length(void **state);
void broadcasts_of_nobody(void **state);

/* users.c */
void doorbells_of_others(void **state);
void a_doorbell_for_each_epoch(void **state);

/* sleepers.c */
void only_who_rang_is_woken(void **state);
void who_sleeps_for_another_group_sleeps_on(void **state);

/* endings.c */
void farewells(void **state);
void farewells_of_broadcasts(void **state);
void failing(void **state);
void failing_on_purpose(void **state);
void failing_elsewhere(void **state);
void who_cannot_be_kept_stays(void **state);
void who_fails_unheard_is_kept_so(void **state);

/* reused.c */
void what_comes_for_a_group_reaches_no_other(void **state);

/* processors.c */
void the_last_release_stays(void **state);
void data_are_whole(void **state);
void blocks_are_whole(void **state);

/* stuck.c */
void who_is_missing(void **state);
void a_stale_page_heals(void **state);
void the_timer_runs_while_somebody_waits(void **state);
void who_is_stuck_is_told_of(void **state);
void a_look_rests_for_what_it_took(void **state);
void without_timers(void **state);

/* memory.c */
void page_is_for_reading(void **state);
void buffer_is_for_reading(void **state);
void lines_begin_empty(void **state);
void pages_are_bounded(void **state);
void subordinates_share_pages(void **state);
void users_have_pages_of_their_own(void **state);
void buffers_stay_their_users(void **state);
void places_come_again(void **state);

/* neighbours.c */
void unknown_neighbour(void **state);
void rings_depend_on_no_peer(void **state);
void hosts_are_forgotten_when_nobody_needs_them(void **state);

/* takeover.c */
void the_next_owner_takes_over(void **state);
void what_is_taken_stays_taken(void **state);

#endif
