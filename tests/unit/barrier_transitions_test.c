/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the state machine of a communicator's MPI_Barrier for all states, events and choices. A
 * failure means that the machine can get stuck in a state or leave a final one, or that
 * docs/design/barrier-states.md differs from the code.
 *
 * With --print the test writes the document's table to standard output.
 */
#include "coll_nicbarr/barrier_transitions.h"
#include "tests/unit/test.h"

enum { CHOICES = NICBARR_BARRIER_MEANS * 8 };

static const char *const state_names[NICBARR_BARRIER_STATES] = {
    [NICBARR_BARRIER_FIRST] = "first",
    [NICBARR_BARRIER_UNDECIDED] = "undecided",
    [NICBARR_BARRIER_ACROSS_FIRST] = "across first",
    [NICBARR_BARRIER_ACROSS_UNDECIDED] = "across undecided",
    [NICBARR_BARRIER_ACROSS_KNOWN] = "across known",
    [NICBARR_BARRIER_PROVISIONAL] = "provisional",
    [NICBARR_BARRIER_SLOTS] = "slots",
    [NICBARR_BARRIER_COUNTER] = "counter",
    [NICBARR_BARRIER_NIC] = "NIC",
    [NICBARR_BARRIER_WATCHED_SLOTS] = "watched slots",
    [NICBARR_BARRIER_WATCHED_COUNTER] = "watched counter",
    [NICBARR_BARRIER_WATCHED_NIC] = "watched NIC",
    [NICBARR_BARRIER_WATCHED_OPENMPI] = "watched Open MPI",
    [NICBARR_BARRIER_COMPARING] = "comparing",
    [NICBARR_BARRIER_FAILED] = "failed",
    [NICBARR_BARRIER_OPENMPI] = "Open MPI",
};
static const char *const event_names[NICBARR_BARRIER_EVENTS] = {
    [NICBARR_EVENT_SHAPE_UNKNOWN] = "shape unknown",
    [NICBARR_EVENT_SHAPE_KNOWN] = "shape known",
    [NICBARR_EVENT_CHOSEN] = "chosen",
    [NICBARR_EVENT_COMPARISON] = "comparison",
    [NICBARR_EVENT_LOST] = "member lost",
    [NICBARR_EVENT_DECLINED] = "declined",
};
static const char *const means_names[NICBARR_BARRIER_MEANS] = {
    [NICBARR_BY_OPENMPI] = "Open MPI's function",
    [NICBARR_BY_SLOTS] = "slots",
    [NICBARR_BY_COUNTER] = "a counter",
    [NICBARR_BY_NIC] = "a NIC",
};

static struct nicbarr_barrier_choice choice_number(int number)
{
    return (struct nicbarr_barrier_choice){
        .means = (enum nicbarr_barrier_means)(number / 8),
        .provisional = 0 != (number & 4),
        .unmeasured = 0 != (number & 2),
        .watched = 0 != (number & 1),
    };
}

static enum nicbarr_barrier_state next_state(int state, int event, int choice)
{
    const struct nicbarr_barrier_choice described = choice_number(choice);
    return nicbarr_barrier_next((enum nicbarr_barrier_state)state,
                                (enum nicbarr_barrier_event)event, &described);
}

/* ---- the table ---- */

static void print_cell(FILE *out, int state, int event)
{
    const enum nicbarr_barrier_state next = next_state(state, event, 0);
    const char *text = NICBARR_BARRIER_STATES == next  ? ""
                       : state == (int)next            ? "same"
                       : NICBARR_EVENT_CHOSEN == event ? "by the choice"
                                                       : state_names[next];
    fprintf(out, " %s |", text);
}

static void print_table(FILE *out)
{
    fputs("| state |", out);
    for (int event = 0; event < NICBARR_BARRIER_EVENTS; ++event) {
        fprintf(out, " %s |", event_names[event]);
    }
    fputs("\n|", out);
    for (int column = 0; column <= NICBARR_BARRIER_EVENTS; ++column) {
        fputs("---|", out);
    }
    for (int state = 0; state < NICBARR_BARRIER_STATES; ++state) {
        fprintf(out, "\n| %s |", state_names[state]);
        for (int event = 0; event < NICBARR_BARRIER_EVENTS; ++event) {
            print_cell(out, state, event);
        }
    }
    fputs("\n| choice | provisional | unmeasured | final | watched |\n|---|---|---|---|---|\n",
          out);
    for (int means = 0; means < NICBARR_BARRIER_MEANS; ++means) {
        fprintf(out, "| %s |", means_names[means]);
        for (const int *bits = (const int[]){4, 2, 0, 1, -1}; *bits >= 0; ++bits) {
            fprintf(out, " %s |",
                    state_names[next_state(NICBARR_BARRIER_PROVISIONAL, NICBARR_EVENT_CHOSEN,
                                           8 * means + *bits)]);
        }
        fputs("\n", out);
    }
}

/* Read the lines of the document's tables. The caller frees them. */
static char *documented_table(void)
{
    const char *sources = getenv("srcdir");
    char path[4096], line[1024], *text = NULL;
    size_t bytes;
    snprintf(path, sizeof(path), "%s/docs/design/barrier-states.md",
             NULL == sources ? "." : sources);
    FILE *document = fopen(path, "r"), *table = open_memstream(&text, &bytes);
    assert_non_null(document);
    assert_non_null(table);
    while (NULL != fgets(line, sizeof(line), document)) {
        if ('|' == line[0]) {
            fputs(line, table);
        }
    }
    fclose(document);
    fclose(table);
    return text;
}

TEST(is_documented)
{
    char *text = NULL, *documented = documented_table();
    size_t bytes;
    FILE *table = open_memstream(&text, &bytes);
    assert_non_null(table);
    print_table(table);
    fclose(table);
    assert_string_equal(documented, text);
    free(documented);
    free(text);
}

/* ---- reachability ---- */

/* The set of states that can be reached from `state` by any events and choices. */
static uint32_t reach(int state)
{
    uint32_t reached = UINT32_C(1) << state, before = 0;
    while (reached != before) {
        before = reached;
        for (int s = 0; s < NICBARR_BARRIER_STATES; ++s) {
            for (int n = 0; 0 != (before >> s & 1) && n < NICBARR_BARRIER_EVENTS * CHOICES; ++n) {
                const int next = next_state(s, n / CHOICES, n % CHOICES);
                reached |= NICBARR_BARRIER_STATES == next ? 0 : UINT32_C(1) << next;
            }
        }
    }
    return reached;
}

TEST(each_state_is_reached)
{
    const uint32_t all = (UINT32_C(1) << NICBARR_BARRIER_STATES) - 1;
    assert_int_equal(reach(NICBARR_BARRIER_FIRST) | reach(NICBARR_BARRIER_ACROSS_FIRST), all);
}

/* Every state can fall back to Open MPI's own functions, and no state returns to the first one. */
TEST(final_states_stay_final)
{
    for (int s = 0; s < NICBARR_BARRIER_STATES; ++s) {
        const uint32_t reached = reach(s);
        assert_true(0 != (reached >> NICBARR_BARRIER_OPENMPI & 1));
        assert_true(s == NICBARR_BARRIER_FIRST || 0 == (reached >> NICBARR_BARRIER_FIRST & 1));
    }
    const uint32_t ends = UINT32_C(1) << NICBARR_BARRIER_OPENMPI | UINT32_C(1)
                                                                       << NICBARR_BARRIER_FAILED;
    assert_int_equal(reach(NICBARR_BARRIER_OPENMPI), ends);
    assert_int_equal(reach(NICBARR_BARRIER_FAILED), ends);
}

/* Once a member is lost, barriers keep failing whatever event follows. */
TEST(a_failure_stays)
{
    for (int n = 0; n < NICBARR_BARRIER_EVENTS * CHOICES; ++n) {
        const int event = n / CHOICES;
        assert_int_equal(next_state(NICBARR_BARRIER_FAILED, event, n % CHOICES),
                         NICBARR_EVENT_DECLINED == event ? NICBARR_BARRIER_OPENMPI
                                                         : NICBARR_BARRIER_FAILED);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && 0 == strcmp(argv[1], "--print")) {
        print_table(stdout);
        return 0;
    }
    return test_run(NULL);
}
