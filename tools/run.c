/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs programs; see run.h. The program writes its output to temporary files, because a pipe could
 * fill up before this process, which waits for the end of the program, reads from it. */
#include "tools/run.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/alloc.h"

extern char **environ;

static FILE *open_temporary(void)
{
    FILE *file = tmpfile();
    if (NULL == file) {
        perror("nicbarr: no temporary file");
        exit(EXIT_FAILURE);
    }
    return file;
}

static char *read_all(FILE *file)
{
    const long bytes = 0 == fseek(file, 0, SEEK_END) ? ftell(file) : 0;
    char *text = tool_alloc((size_t)(bytes < 0 ? 0 : bytes) + 1, 1);
    rewind(file);
    text[fread(text, 1, (size_t)(bytes < 0 ? 0 : bytes), file)] = '\0';
    fclose(file);
    return text;
}

void run_program(char *const argv[], struct run *run)
{
    FILE *out = open_temporary(), *err = open_temporary();
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    run->status = 127;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(err), STDERR_FILENO);
    if (0 == posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) &&
        child == waitpid(child, &status, 0)) {
        run->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    posix_spawn_file_actions_destroy(&actions);
    run->out = read_all(out);
    run->err = read_all(err);
}

void run_free(struct run *run)
{
    free(run->out);
    free(run->err);
}

char *run_first_line(const char *text)
{
    const char *begin = text + strspn(text, " \t\r\n");
    char *line = strndup(begin, strcspn(begin, "\r\n"));
    if (NULL == line) {
        tool_no_memory();
    }
    return line;
}
