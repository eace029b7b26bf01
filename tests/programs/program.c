/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a program; see program.h for the format. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void unreadable(const char *path, const char *why)
{
    fprintf(stderr, "player: %s: %s\n", path, why);
    exit(64);
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        unreadable(path, "cannot be opened");
    size_t length = 0, room = 0;
    char *text = NULL;
    do {
        room += 65536;
        text = realloc(text, room + 1);
        if (!text)
            unreadable(path, "out of memory");
        length += fread(text + length, 1, room - length, file);
    } while (length == room);
    fclose(file);
    text[length] = '\0';
    return text;
}

static void read_step(struct step *step, char *line, const char *path)
{
    char *rest = NULL;
    const char *id = strtok_r(line, " ", &rest);
    step->kind = strtok_r(NULL, " ", &rest);
    if (!id || !step->kind)
        unreadable(path, "a step has no kind");
    step->id = (unsigned)strtoul(id, NULL, 10);
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
        char *equals = strchr(word, '=');
        if (!equals || step->n_words == STEP_WORDS)
            unreadable(path, "a step has a word without =, or too many words");
        *equals = '\0';
        step->words[step->n_words].key = word;
        step->words[step->n_words++].value = equals + 1;
    }
}

void program_read(struct program *program, const char *path)
{
    *program = (struct program){.text = read_all(path)};
    int lines = 1;
    for (const char *at = program->text; *at; at++)
        lines += *at == '\n';
    program->steps = calloc((size_t)lines, sizeof(struct step));
    if (!program->steps)
        unreadable(path, "out of memory");
    char *rest = NULL;
    for (char *line = strtok_r(program->text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#' || *line == '@')
            continue;
        struct step *step = &program->steps[program->n_steps++];
        step->line = program->n_steps;
        read_step(step, line, path);
        program->threads |= strcmp(step->kind, "fork") == 0;
    }
    if (program->n_steps == 0)
        unreadable(path, "it has no steps");
}

void program_free(struct program *program)
{
    free(program->steps);
    free(program->text);
}

const char *step_word(const struct step *step, const char *key, const char *otherwise)
{
    for (int i = 0; i < step->n_words; i++)
        if (strcmp(step->words[i].key, key) == 0)
            return step->words[i].value;
    return otherwise;
}

long step_number(const struct step *step, const char *key, long otherwise)
{
    const char *value = step_word(step, key, NULL);
    return value ? strtol(value, NULL, 10) : otherwise;
}

bool step_is(const struct step *step, const char *key, const char *value)
{
    return strcmp(step_word(step, key, ""), value) == 0;
}
