/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a step `messages` that is being executed. messages.c implements the step and its
 * sends, messages_receive.c the receives, and messages_complete.c the completion of requests.
 */
#ifndef NICBARR_TESTS_MESSAGES_PARTS_H
#define NICBARR_TESTS_MESSAGES_PARTS_H

#include "layout.h"
#include "messages_plan.h"

struct receive {
    int source, tag; /* or wildcards */
    struct layout layout;
    MPI_Status status;
    int error; /* class of the error with which it completed */
};

struct messages {
    struct messages_plan plan;
    int thread;
    bool early, away;
    struct receive *receives; /* in the order in which they are posted */
    struct layout *sent;
    int posted, received;
    unsigned from_any; /* bits of tags that are received from any source from now on */
    bool all_from_any; /* all messages are received from any source from now on, with any tag */
    /* The requests of the receives, followed by those of the sends. */
    int n, active;
    MPI_Request *requests;
    bool *is_active;
    int *indices;
    MPI_Status *statuses;
    /* A receive that is cancelled, and its buffer. */
    MPI_Request cancelled;
    unsigned char nothing;
    void *attached;
};

/* Returns one of the letters of a word of the step. */
char messages_letter(const struct messages *m, const char *key, const char *otherwise,
                     uint64_t lot);
bool messages_have_letter(const struct messages *m, const char *key, char wanted);
/* Opens a layout of the step's type: often plain, and otherwise as the word says. */
void messages_layout(const struct messages *m, struct layout *layout, const char *key, size_t n,
                     uint64_t lot);

/* Posts receives for the late messages, or for the others, and executes those that block. */
void messages_receive_all(struct messages *m, bool late);
/* Checks the message, the status and the error of each receive. To be called when all receives are
 * complete. */
void messages_check_all(struct messages *m);

/* Returns a status with an error field that calls which return a single status must not change (MPI
 * 4.0, 3.2.5). */
MPI_Status messages_status(void);
void messages_check_kept(const struct messages *m, const MPI_Status *status, const char *call);
/* Records that receive i has completed with this error. */
void messages_received(struct messages *m, int i, int error, const MPI_Status *status);
/* Counts request i as outstanding. */
void messages_activate(struct messages *m, int i);
/* Completes some of the outstanding requests, or none. There must be outstanding ones. `how`
 * selects one of WAYS ways, of which those from TRY on do not wait. */
enum { WAYS = 6, TRY = 2 };
void messages_complete_some(struct messages *m, uint64_t how, int i);
void messages_complete_all(struct messages *m);
/* Cancels the outstanding receive i. Returns false if it has received a message instead. */
bool messages_cancel(struct messages *m, int i);

#endif
