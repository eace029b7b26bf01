/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the tests of each file, which kernel_server_test.c runs.
 */
#ifndef TESTS_UNIT_KERNEL_SERVER_TESTS_H
#define TESTS_UNIT_KERNEL_SERVER_TESTS_H

/* plans.c */
void a_valid_request_makes_a_plan(void **state);
void invalid_requests_are_refused(void **state);
void data_without_room_are_refused(void **state);
void windows_without_room_are_refused(void **state);
void only_neighbours_can_be_peers(void **state);
void packets_fit_the_interface(void **state);

/* groups.c */
void equal_groups_are_shared(void **state);
void the_last_one_closes_it(void **state);
void closed_groups_have_a_quota(void **state);
void each_open_needs_a_close(void **state);
void death_fails_what_was_held(void **state);
void a_lost_failure_is_repeated(void **state);
void a_lost_failure_is_kept(void **state);
void a_close_is_repeated(void **state);
void members_have_a_quota(void **state);
void users_see_their_own_groups(void **state);

/* farewells.c */
void groups_with_data_linger(void **state);
void farewells_begin_and_end(void **state);
void groups_that_broadcast_linger(void **state);
void other_groups_do_not_linger(void **state);
void lingering_groups_are_evicted(void **state);

/* shares.c */
void users_wait_when_their_time_is_used_up(void **state);
void subordinates_are_an_account(void **state);
void subordinates_share_a_quota(void **state);
void quotas_shrink_with_the_number_of_users(void **state);
void groups_have_a_quota(void **state);

/* stuck.c */
void stuck_groups_are_asked_for_with_backoff(void **state);
void groups_with_progress_are_not_asked_for(void **state);
void nothing_is_due_without_groups(void **state);
void scans_back_off(void **state);
void reported_groups_are_asked_for(void **state);
void asks_have_a_quota(void **state);

/* meetings.c */
void meetings_have_a_quota(void **state);
void equal_groups_share_a_meeting(void **state);
void meetings_share_time_between_users(void **state);

/* clients.c */
void clients_share_a_page(void **state);
void members_learn_who_is_missing(void **state);
void refusals_have_a_message(void **state);
void a_connection_that_ends_is_a_death(void **state);
void a_process_may_exit_right_after_leaving(void **state);
void the_server_asks_for_reported_groups(void **state);
void a_killed_process_is_a_death(void **state);
void a_server_that_ends_is_noticed(void **state);

/* nonsense.c */
void clients_that_read_nothing_are_disconnected(void **state);
void invalid_requests_end_the_connection(void **state);
void a_report_has_no_unused_entries(void **state);
void random_requests_are_checked(void **state);

/* hosts.c */
void the_server_answers_queries(void **state);
void a_host_without_a_daemon_is_no_peer(void **state);
void an_absent_host_delays_no_client(void **state);
void a_host_that_answers_late_is_met(void **state);
void waiting_clients_may_disconnect(void **state);

/* connections.c */
void other_networks_are_refused(void **state);
void one_server_at_a_path(void **state);
void refusals_are_bounded(void **state);
void unread_answers_count(void **state);
void users_have_shares_of_connections(void **state);

/* processes.c */
void a_failed_join_leaves_nothing(void **state);
void groups_have_lines_of_their_own(void **state);
void a_process_broadcasts(void **state);

/* takeovers.c */
void the_next_daemon_knows_the_holders(void **state);
void clients_that_reconnect_keep_their_groups(void **state);
void groups_without_a_holder_are_closed(void **state);
void a_group_is_opened_again(void **state);
void holders_without_groups_are_forgotten(void **state);
void closed_groups_stay_closed(void **state);

#endif
