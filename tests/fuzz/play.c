/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzzer's invariants without libFuzzer, so that each build checks them: on the inputs of
 * the corpus, then on random ones, which are made of these by changing, removing, inserting and
 * joining bytes.
 *
 * `make check` runs a program TARGET_fuzz per target, which is this file and TARGET_fuzz.c.
 * NICBARR_PROGRAMS is the number of random inputs. A failure prints the number of the input, and
 * the seed with which it occurs again. Unlike run.sh, this is not guided by coverage.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/crew.h"

enum {
    INPUTS = 500,    /* maximum number in a corpus */
    LONGEST = 4096,  /* maximum length of a random input, in bytes */
    PROGRAMS = 3000, /* default number of random inputs */
};

struct bytes {
    uint8_t *at;
    size_t count;
};

static struct bytes corpus[INPUTS];
static uint32_t inputs;
static volatile uint32_t current; /* number of the input that is being run */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = '\0' == c ? NULL : strchr(digits, c);
    return NULL == found ? -1 : (int)(found - digits);
}

/* Decode a line of base64. */
static void add_input(const char *line)
{
    struct bytes *input = &corpus[inputs++];
    uint32_t bits = 0, held = 0;
    input->at = crew_require(malloc(strlen(line)));
    for (; digit_of(*line) >= 0; ++line) {
        bits = bits << 6 | (uint32_t)digit_of(*line);
        held += 6;
        if (held >= 8) {
            held -= 8;
            input->at[input->count++] = (uint8_t)(bits >> held);
        }
    }
}

static void read_corpus(const char *target)
{
    char path[500], *line = NULL;
    size_t room = 0;
    const char *top = getenv("srcdir");
    snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%.*s.txt", NULL == top ? "." : top,
             (int)(strrchr(target, '_') - target), target);
    FILE *file = fopen(path, "r");
    if (NULL == file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    while (getline(&line, &room, file) >= 0) {
        if ('#' != line[0] && inputs < INPUTS) {
            add_input(line);
        }
    }
    free(line);
    fclose(file);
    CHECK(inputs > 0);
}

static void append(struct bytes *to, const uint8_t *from, size_t count)
{
    const size_t room = LONGEST - to->count;
    count = count < room ? count : room;
    memcpy(to->at + to->count, from, count);
    to->count += count;
}

/* Append a random part of an input of the corpus. */
static void append_part(struct bytes *to, uint64_t *random)
{
    const struct bytes *from = &corpus[crew_below(random, inputs)];
    const size_t begin =
        0 == crew_below(random, 2) ? 0 : crew_below(random, (uint32_t)from->count + 1);
    append(to, from->at + begin, crew_below(random, (uint32_t)(from->count - begin) + 1));
}

static void change(struct bytes *input, uint64_t *random)
{
    uint8_t *byte = &input->at[crew_below(random, (uint32_t)input->count)];
    switch (crew_below(random, 4)) {
    case 0:
        *byte ^= (uint8_t)(1 << crew_below(random, 8));
        break;
    case 1:
        *byte = (uint8_t)(*byte + crew_below(random, 9) - 4);
        break;
    case 2:
        *byte = (uint8_t)crew_random(random);
        break;
    default: /* without this byte */
        memmove(byte, byte + 1, (size_t)(input->at + --input->count - byte));
    }
}

static void make_input(struct bytes *input, uint64_t *random)
{
    input->count = 0;
    for (uint32_t parts = 1 + crew_below(random, 3); parts > 0; --parts) {
        append_part(input, random);
        for (uint32_t extra = crew_below(random, 40); 0 == crew_below(random, 3) && extra > 0;
             --extra) {
            const uint8_t byte = (uint8_t)crew_random(random);
            append(input, &byte, 1);
        }
    }
    for (uint32_t changes = crew_below(random, 8); changes > 0 && input->count > 1; --changes) {
        change(input, random);
    }
}

static void explain(int signal_number)
{
    char text[100];
    const int count = snprintf(text, sizeof(text), "input %u fails with NICBARR_SEED=%llu\n",
                               (unsigned)current, (unsigned long long)crew_seed());
    (void)!write(2, text, (size_t)count);
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

int main(int argc, char **argv)
{
    (void)argc;
    static uint8_t memory[LONGEST];
    struct bytes input = {memory, 0};
    const char *slash = strrchr(argv[0], '/'), *name = NULL == slash ? argv[0] : slash + 1;
    const char *wanted = getenv("NICBARR_PROGRAMS");
    const uint32_t programs = NULL == wanted ? PROGRAMS : (uint32_t)strtoul(wanted, NULL, 10);
    uint64_t random = crew_seed();
    crew_watchdog();
    (void)signal(SIGABRT, explain);
    (void)signal(SIGSEGV, explain);
    CHECK(NULL != strrchr(name, '_'));
    read_corpus(name);
    for (; current < inputs; ++current) {
        (void)LLVMFuzzerTestOneInput(corpus[current].at, corpus[current].count);
    }
    for (; current < inputs + programs; ++current) {
        make_input(&input, &random);
        (void)LLVMFuzzerTestOneInput(input.at, input.count);
    }
    for (uint32_t i = 0; i < inputs; ++i) {
        free(corpus[i].at);
    }
    return 0;
}
