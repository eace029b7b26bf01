/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the tests of each file, which nic_test.c runs.
 */
#ifndef TESTS_UNIT_NIC_TESTS_H
#define TESTS_UNIT_NIC_TESTS_H

/* barriers.c */
void barriers_across_nodes(void **state);
void barriers_over_ipv6(void **state);
void barriers_asleep(void **state);
void a_node_arrives_with_its_last_process(void **state);
void one_is_stopped(void **state);

/* data.c */
void data_across_nodes(void **state);

/* broadcasts.c */
void broadcasts_across_nodes(void **state);
void broadcasts_of_a_wrong_length(void **state);

/* farewells.c */
void more_farewells_than_fit(void **state);
void one_long_farewell(void **state);
void a_new_nic_keeps_no_groups(void **state);
void impossible_data_are_refused(void **state);

/* threads.c */
void a_thread_runs_the_nic(void **state);
void threads_come_and_go(void **state);
void threads_poll(void **state);

/* comers.c */
void all_open_one_nic(void **state);
void the_creator_leaves(void **state);
void the_creator_is_killed(void **state);
void the_next_generation_creates_it_again(void **state);
void the_last_of_many_has_the_socket(void **state);

/* refusals.c */
void no_network(void **state);
void port_in_use(void **state);
void the_socket_is_refused(void **state);
void a_refused_socket_stays_open(void **state);

/* strangers.c */
void strange_packets(void **state);
void barriers_under_fire(void **state);

/* watch.c */
void a_watch_polls_if_no_process_does(void **state);
void a_watch_that_stays_takes_over(void **state);
void an_empty_datagram_does_not_end_a_poll(void **state);
void a_flood_does_not_end_a_poll(void **state);
void the_watch_leaves(void **state);
void the_watch_is_killed(void **state);

/* failures.c */
void the_first_of_two_fails(void **state);
void the_second_of_two_fails(void **state);
void a_missing_node(void **state);

/* killed.c */
void killed_with_the_lock(void **state);
void stopped_with_the_lock(void **state);
void the_holder_leaves_in_between(void **state);
void a_dead_holders_pid_is_reused(void **state);
void a_dead_holder_is_a_zombie(void **state);
void a_dead_runners_pid_is_reused(void **state);
void a_broken_nic_is_left_alone(void **state);
void killed_as_a_member(void **state);

/* addresses.c */
void routes(void **state);
void no_interface_runs(void **state);
void routes_of_ipv6(void **state);
void peers_come_and_go(void **state);

/* inspections.c */
void corrupted_memory_is_viewed(void **state);
void a_view_of_a_cycle_ends(void **state);

#endif
