/* SPDX-License-Identifier: BSD-3-Clause */
/* See plot.h. Positions are in pixels from the top left corner. Texts are in single quotes, where
 * only the quote is special to gnuplot, and without mark-up ("noenhanced"). The SVG terminal needs
 * mark-up for bold type, so SVG files have none. */
#include "tools/plot.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/report_text.h"
#include "tools/text.h"

enum {
    HEAD = 118, /* heights */
    TITLE = 76,
    ROW = 30,
    FOOT = 68,
    NOTE = 20,
    MARGIN = 20, /* widths */
    DRAWING = 490,
    RIGHT = 240,  /* space for the numbers */
    LEAST = 860,  /* width of a column, in which the header's text fits */
    MEDIAN = 150, /* right ends of columns, from the right edge */
    GAIN = 86,
    CHOSEN = 72, /* left end of the word "chosen" */
    MOST_ROWS = 32,
    MOST_NOTES = 6,
    SHARP = 2, /* pixels of a PNG per unit */
};
static const double character = 9; /* usual maximum width of a character of ordinary text */

static const char *const colour_chosen = "#1f9e89", *const colour_own = "#e07a3f",
                         *const colour_other = "#b4c3d4", *const colour_model = "#3b2f6b",
                         *const colour_text = "#222222", *const colour_faint = "#666666";

struct canvas {
    FILE *out;
    enum plot_kind kind;
    double width, height;
    double column, left; /* widths: of a panel, and of the algorithms' names in it */
    const char *font;
    double size;  /* of ordinary text */
    double point; /* size of points, in the terminal's unit */
};

/* The range of an axis. */
struct range {
    double low, high;
    bool logarithmic;
    bool cut; /* an error bar extends beyond the range */
};

struct panel {
    const struct report_entry *entry;
    size_t number; /* number of the entry, from 1 */
    size_t rows;
    struct range range;
    size_t notes; /* number of lines below the axis */
    char note[MOST_NOTES][160];
    double left, top, height;
};

bool plot_kind_of(const char *path, enum plot_kind *kind)
{
    const size_t length = strlen(path);
    const char *ending = length > 4 ? path + length - 4 : "";
    *kind = 0 == strcasecmp(ending, ".png")   ? PLOT_PNG
            : 0 == strcasecmp(ending, ".pdf") ? PLOT_PDF
                                              : PLOT_SVG;
    return PLOT_SVG != *kind || 0 == strcasecmp(ending, ".svg");
}

/* ---- parts of the script ---- */

static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; '\0' != *text; ++text) {
        fputs('\'' == *text ? "''" : (char[]){*text, '\0'}, out);
    }
    fputc('\'', out);
}

/* Writes a position on the screen, in pixels from the top left corner. */
static void put_position(const struct canvas *canvas, double x, double y)
{
    fprintf(canvas->out, "screen %.5f, screen %.5f", x / canvas->width, 1 - y / canvas->height);
}

/* Writes a text, truncated to the width of a column. Texts that may be long begin at the column's
 * left edge. */
__attribute__((format(printf, 8, 9))) static void label(const struct canvas *canvas, double x,
                                                        double y, const char *side,
                                                        const char *weight, double size,
                                                        const char *colour, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const double room = (canvas->column - 2 * MARGIN) / (character * size);
    char *printable = text_printable(text, (size_t)room);
    fprintf(canvas->out, "set label ");
    put_quoted(canvas->out, printable);
    fprintf(canvas->out, " at ");
    put_position(canvas, x, y);
    fprintf(canvas->out, " %s noenhanced font '%s%s,%.1f' textcolor rgb '%s'\n", side, canvas->font,
            PLOT_SVG == canvas->kind ? "" : weight, size * canvas->size, colour);
    free(printable);
}

static void key(const struct canvas *canvas, double x, double y, const char *colour,
                const char *text)
{
    fprintf(canvas->out, "set object rectangle from ");
    put_position(canvas, x, y + 7);
    fprintf(canvas->out, " to ");
    put_position(canvas, x + 18, y - 7);
    fprintf(canvas->out, " fillcolor rgb '%s' fillstyle solid noborder\n", colour);
    label(canvas, x + 25, y, "left", "", 1, colour_text, "%s", text);
}

static void head(const struct canvas *canvas, const struct report *report, size_t shown)
{
    const size_t measured = report_measured(report);
    const double y = 96;
    label(canvas, MARGIN, 24, "left", ":Bold", 1.3, colour_text,
          "MPI_Barrier: what nicbarr measured and chose");
    label(canvas, MARGIN, 48, "left", "", 1, colour_faint, "%s (%s)", report->host,
          report->processor);
    label(canvas, MARGIN, 69, "left", "", 1, colour_faint, "Open MPI %s, nicbarr %s, %s%s",
          report->open_mpi, report->nicbarr, report->time,
          measured > shown ? "; not all measurements are shown" : "");
    key(canvas, MARGIN, y, colour_chosen, "chosen");
    key(canvas, 122, y, colour_own, "Open MPI");
    key(canvas, 286, y, colour_other, "other candidates");
    fprintf(canvas->out, "set label '' at ");
    put_position(canvas, 464, y);
    fprintf(canvas->out, " point pointtype 12 pointsize %.1f linewidth 1.8 linecolor rgb '%s'\n",
            canvas->point, colour_model);
    label(canvas, 480, y, "left", "", 1, colour_text, "model's prediction");
    fprintf(canvas->out, "set arrow from ");
    put_position(canvas, 652, y);
    fprintf(canvas->out, " to ");
    put_position(canvas, 678, y);
    fprintf(canvas->out, " heads size screen %.5f,90 linewidth 1.5 linecolor rgb '%s'\n",
            5 / canvas->width, colour_text);
    label(canvas, 688, y, "left", "", 1, colour_text, "quartiles");
}

/* ---- a panel ---- */

/* Finds a range for all bars and points, and for error bars unless they are far longer. */
static struct range find_range(const struct panel *panel)
{
    double least = HUGE_VAL, most = 0, fastest = HUGE_VAL, slowest = 0, highest = 0;
    for (size_t r = 0; r < panel->rows; ++r) {
        const struct report_candidate *candidate = &panel->entry->candidates[r];
        if (!(candidate->median_us > 0)) {
            continue;
        }
        const double model = candidate->model_us > 0 ? candidate->model_us : candidate->median_us;
        fastest = fmin(fastest, candidate->median_us);
        slowest = fmax(slowest, candidate->median_us);
        least = fmin(least, fmin(candidate->q1_us, model));
        most = fmax(most, fmax(candidate->median_us, model));
        highest = fmax(highest, candidate->q3_us);
    }
    const bool cut = highest > 2 * most;
    most = cut ? 2 * most : fmax(most, highest);
    if (least > 0 && slowest > 10 * fastest) {
        return (struct range){0.7 * least, 1.2 * most, true, cut};
    }
    return (struct range){0, most > 0 ? 1.04 * most : 1, false, cut};
}

/* Writes tics for a logarithmic axis. By default gnuplot only labels powers of ten, and the range
 * may contain at most one of these. */
static void logarithmic_tics(FILE *out, struct range range)
{
    static const int digits[] = {1, 2, 5};
    const int first = (int)floor(log10(range.low)), last = (int)ceil(log10(range.high));
    const int count = last - first > 4 ? 1 : 3;
    const char *comma = "";
    fprintf(out, "set xtics (");
    for (int power = first; power <= last; ++power) {
        for (int d = 0; d < count; ++d) {
            fprintf(out, "%s%.6g", comma, digits[d] * pow(10, power));
            comma = ", ";
        }
    }
    fprintf(out, ")\n");
}

static void frame(const struct canvas *canvas, const struct panel *panel)
{
    FILE *out = canvas->out;
    const struct range range = panel->range;
    const double top = panel->top + TITLE, bottom = panel->top + TITLE + (double)panel->rows * ROW;
    fprintf(out, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
            (panel->left + canvas->left) / canvas->width,
            (panel->left + canvas->column - RIGHT) / canvas->width);
    fprintf(out, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
            1 - top / canvas->height, 1 - bottom / canvas->height);
    fprintf(out, "set xrange [%.9g:%.9g]\nset yrange [%.1f:-0.5]\n", range.low, range.high,
            (double)panel->rows - 0.5);
    fprintf(out, "unset logscale\nset xtics autofreq\nset grid xtics noytics\n");
    if (range.logarithmic) {
        fprintf(out, "set logscale x\nset grid ytics\n");
        logarithmic_tics(out, range);
    }
    fprintf(out, "set xtics offset 0,%.1f format '%%g'\n", PLOT_SVG == canvas->kind ? 0.3 : 0.0);
    fprintf(out, "set ytics (");
    for (size_t r = 0; r < panel->rows; ++r) {
        fprintf(out, "%s'%s' %zu", 0 == r ? "" : ", ", panel->entry->candidates[r].algorithm, r);
    }
    fprintf(out, ")\n");
}

static void words(const struct canvas *canvas, const struct panel *panel)
{
    const struct report_entry *entry = panel->entry;
    const double left = panel->left + MARGIN;
    const double bottom = panel->top + TITLE + (double)panel->rows * ROW;
    char shape[160];
    report_shape(entry, shape, sizeof(shape));
    label(canvas, left, panel->top + 20, "left", ":Bold", 1.1, colour_text, "[%zu] %s",
          panel->number, entry->name);
    label(canvas, left, panel->top + 43, "left", "", 1, colour_faint, "%s", shape);
    label(canvas, panel->left + (canvas->left + canvas->column - RIGHT) / 2, bottom + 46, "center",
          "", 1, colour_text, "time of a barrier (microseconds%s)",
          panel->range.logarithmic ? ", logarithmic" : "");
    for (size_t n = 0; n < panel->notes; ++n) {
        label(canvas, left, bottom + FOOT + 5 + (double)n * NOTE, "left", "", 0.95, colour_faint,
              "%s", panel->note[n]);
    }
}

/* Prints the measurements in columns to the right of the points. */
static void figures(const struct canvas *canvas, const struct panel *panel)
{
    const double right = panel->left + canvas->column;
    const int decimals = report_decimals(panel->entry->candidates[0].median_us);
    const double above = panel->top + TITLE - 8;
    label(canvas, panel->left + canvas->left - 10, above, "right", "", 0.9, colour_faint,
          "algorithm");
    label(canvas, right - MEDIAN, above, "right", "", 0.9, colour_faint, "median");
    label(canvas, right - GAIN, above, "right", "", 0.9, colour_faint, "gain");
    for (size_t r = 0; r < panel->rows; ++r) {
        const struct report_candidate *candidate = &panel->entry->candidates[r];
        const double y = panel->top + TITLE + ((double)r + 0.5) * ROW;
        if (candidate->median_us > 0) {
            label(canvas, right - MEDIAN, y, "right", "", 1, colour_text, "%.*f µs", decimals,
                  candidate->median_us);
        } else {
            label(canvas, right - MEDIAN, y, "right", "", 1, colour_faint, "not measured");
        }
        if (candidate->gain > 0) {
            label(canvas, right - GAIN, y, "right", "", 1, colour_text, "%.2f ×", candidate->gain);
        }
        if (candidate->chosen) {
            label(canvas, right - CHOSEN, y, "left", "", 1, colour_text, "chosen");
        }
    }
}

/* Writes a measurement. Unknown ones are written as NaN, which gnuplot skips. */
static void put_figure(FILE *out, double known, double figure)
{
    if (known > 0) {
        fprintf(out, "%.9g ", figure);
    } else {
        fprintf(out, "NaN ");
    }
}

/* Draws the medians: as bars, or as points on a logarithmic axis, which has no zero. */
static void medians(const struct canvas *canvas, const struct panel *panel)
{
    FILE *out = canvas->out;
    bool any_model = false;
    fprintf(out, "$candidates << end\n"); /* row, median, q1, q3, model, colour */
    for (size_t r = 0; r < panel->rows; ++r) {
        const struct report_candidate *candidate = &panel->entry->candidates[r];
        const char *colour = candidate->own      ? colour_own
                             : candidate->chosen ? colour_chosen
                                                 : colour_other;
        fprintf(out, "%zu ", r);
        put_figure(out, candidate->median_us, candidate->median_us);
        put_figure(out, candidate->median_us, candidate->q1_us);
        put_figure(out, candidate->median_us, candidate->q3_us);
        put_figure(out, candidate->model_us, candidate->model_us);
        any_model = any_model || candidate->model_us > 0;
        fprintf(out, "0x%s\n", colour + 1);
    }
    fprintf(out, "end\nplot ");
    if (panel->range.logarithmic) {
        fprintf(out,
                "$candidates using 2:1:6 with points pointtype 7 pointsize %.1f linecolor rgb "
                "variable notitle",
                1.6 * canvas->point);
    } else {
        fprintf(out, "$candidates using 2:1:(0):2:($1-0.34):($1+0.34):6 with boxxyerror "
                     "fillstyle solid noborder linecolor rgb variable notitle");
    }
    fprintf(out,
            ", $candidates using 2:1:3:4 with xerrorbars pointtype -1 linewidth 1.5 linecolor "
            "rgb '%s' notitle",
            colour_text);
    if (any_model) {
        fprintf(out,
                ", $candidates using 5:1 with points pointtype 12 pointsize %.1f linewidth 1.8 "
                "linecolor rgb '%s' notitle",
                canvas->point, colour_model);
    }
    fprintf(out, "\n");
}

/* ---- notes ---- */

__attribute__((format(printf, 2, 3))) static void add_note(struct panel *panel, const char *format,
                                                           ...)
{
    if (panel->notes < MOST_NOTES) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(panel->note[panel->notes++], sizeof(panel->note[0]), format, arguments);
        va_end(arguments);
    }
}

/* Describes the raw limits that were measured on one node; either may be missing. */
static void note_limits(struct panel *panel)
{
    const struct report_entry *entry = panel->entry;
    char line[80] = "", change[80] = "";
    if (entry->line_us > 0) {
        snprintf(line, sizeof(line), "%.*f µs for a cache line from rank 0 to rank 1",
                 report_decimals(entry->line_us), entry->line_us);
    }
    if (entry->switch_us > 0) {
        snprintf(change, sizeof(change), "%.*f µs for a context switch",
                 report_decimals(entry->switch_us), entry->switch_us);
    }
    if ('\0' != line[0] || '\0' != change[0]) {
        add_note(panel, "raw limits: %s%s%s", line,
                 '\0' != line[0] && '\0' != change[0] ? "; " : "", change);
    }
}

/* Describes the raw limits across nodes, with one line per kind (whose entries are consecutive). */
static void note_round_trips(struct panel *panel)
{
    const struct report_entry *entry = panel->entry;
    for (size_t t = 0; t < entry->trips;) {
        const char *nic = entry->round_trips[t].nic;
        char text[128] = "";
        size_t length = 0;
        for (; t < entry->trips && 0 == strcmp(nic, entry->round_trips[t].nic); ++t) {
            const struct report_round_trip *trip = &entry->round_trips[t];
            if (length < sizeof(text)) {
                length +=
                    (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*f µs to %d%s",
                                     0 == length ? "" : ", ", report_decimals(trip->least_us),
                                     trip->least_us, trip->peers,
                                     0 != length        ? ""
                                     : 1 == trip->peers ? " node and back"
                                                        : " nodes and back");
            }
        }
        add_note(panel, "raw limits, %s NIC: %s", nic, text);
    }
}

static void make_notes(struct panel *panel)
{
    const struct report_entry *entry = panel->entry;
    if (panel->range.cut) {
        add_note(panel, "error bars that reach the edge extend beyond it");
    }
    if (entry->has_confidence && entry->provisional) {
        add_note(panel, "the choice is provisional: confidence %.0f %%; load of the machine %.1f",
                 100 * entry->confidence, entry->load);
    }
    note_limits(panel);
    note_round_trips(panel);
}

/* ---- the whole ---- */

/* Arranges the panels in one column, or in two if there are more than two panels. Each row is as
 * high as its highest panel. Returns the number of panels. */
static size_t lay_out(const struct report *report, struct panel *panels, struct canvas *canvas)
{
    size_t count = 0, longest = 0;
    for (size_t e = 0; e < report->count && count < PLOT_PANELS; ++e) {
        const struct report_entry *entry = &report->entries[e];
        if (0 < entry->count) {
            struct panel *panel = &panels[count++];
            *panel = (struct panel){.entry = entry,
                                    .number = e + 1,
                                    .rows = entry->count < MOST_ROWS ? entry->count : MOST_ROWS};
            panel->range = find_range(panel);
            make_notes(panel);
            panel->height =
                TITLE + (double)panel->rows * ROW + FOOT + (double)panel->notes * NOTE + 10;
            for (size_t r = 0; r < panel->rows; ++r) {
                const size_t length = strlen(entry->candidates[r].algorithm);
                longest = length > longest ? length : longest;
            }
        }
    }
    canvas->left = MARGIN + 10 + character * (double)longest;
    canvas->column = fmax(canvas->left + DRAWING + RIGHT, LEAST);
    const size_t columns = count > 2 ? 2 : 1;
    canvas->width = (double)columns * canvas->column;
    canvas->height = HEAD;
    for (size_t first = 0; first < count; first += columns) {
        double height = 0;
        for (size_t p = first; p < count && p < first + columns; ++p) {
            panels[p].left = (double)(p - first) * canvas->column;
            panels[p].top = canvas->height;
            height = fmax(height, panels[p].height);
        }
        canvas->height += height;
    }
    return count;
}

static void terminal(struct canvas *canvas)
{
    const bool svg = PLOT_SVG == canvas->kind;
    FILE *out = canvas->out;
    canvas->font = svg ? "sans-serif" : "Sans";
    canvas->size = svg ? 14 : 10.5; /* pixels; points */
    canvas->point = svg ? 0.8 : PLOT_PDF == canvas->kind ? 1.1 : 1.5;
    fprintf(out, "set encoding utf8\nset terminal ");
    switch (canvas->kind) {
    case PLOT_SVG:
        fprintf(out, "svg size %.0f,%.0f dynamic", canvas->width, canvas->height);
        break;
    case PLOT_PNG:
        fprintf(out, "pngcairo size %.0f,%.0f pointscale 2 fontscale %d linewidth %d",
                canvas->width * SHARP, canvas->height * SHARP, SHARP, SHARP);
        break;
    case PLOT_PDF: /* with the usual 96 pixels per inch */
        fprintf(out, "pdfcairo size %.3fin,%.3fin fontscale 0.75 linewidth 1.5", canvas->width / 96,
                canvas->height / 96);
        break;
    }
    fprintf(out, " font '%s,%.1f' noenhanced background '#ffffff'\n", canvas->font, canvas->size);
}

void plot_script(const struct report *report, enum plot_kind kind, FILE *out)
{
    struct canvas canvas = {.out = out, .kind = kind};
    struct panel panels[PLOT_PANELS];
    const size_t count = lay_out(report, panels, &canvas);
    terminal(&canvas);
    fprintf(out, "set multiplot\nunset key\nset border 3 linecolor rgb '%s'\n", colour_faint);
    fprintf(out, "set tics out nomirror scale 0.6 textcolor rgb '%s'\n", colour_text);
    fprintf(out, "set grid xtics linetype 1 linewidth 0.6 linecolor rgb '#dddddd'\n");
    /* gnuplot 6 would leave space around points, and hide short whiskers. */
    fprintf(out, "set ytics scale 0\nset errorbars 0.7\nset pointintervalbox 0\n");
    head(&canvas, report, count);
    for (size_t p = 0; p < count; ++p) {
        frame(&canvas, &panels[p]);
        words(&canvas, &panels[p]);
        figures(&canvas, &panels[p]);
        medians(&canvas, &panels[p]);
        fprintf(out, "unset label\nunset object\nunset arrow\n");
    }
    fprintf(out, "unset multiplot\nunset output\n");
}

/* ---- running gnuplot ---- */

static FILE *scratch(void)
{
    const int file = memfd_create("nicbarr report", MFD_CLOEXEC);
    return file < 0 ? NULL : fdopen(file, "w+");
}

/* Runs gnuplot. Returns 0, or an error number if it cannot be run. waitpid() sets `status`. */
static int run_gnuplot(FILE *script, FILE *picture, FILE *complaints, int *status)
{
    /* -d is needed because the user's start-up files could change the plot. */
    char *const arguments[] = {(char *)"gnuplot", (char *)"-d", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int rc = posix_spawn_file_actions_init(&actions);
    if (0 != rc) {
        return rc;
    }
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
    rc = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (0 == rc && waitpid(child, status, 0) < 0) {
        rc = EINTR == errno ? 0 : errno;
    }
    return rc;
}

/* Returns gnuplot's error message: the last line with a colon, after the lines of the script. */
static char *last_complaint(FILE *complaints)
{
    char text[256], last[256] = "it gives no reason";
    rewind(complaints);
    while (NULL != fgets(text, sizeof(text), complaints)) {
        text[strcspn(text, "\n")] = '\0';
        if (NULL != strchr(text, ':')) {
            memcpy(last, text, sizeof(last));
        }
    }
    return text_printable(last, 160);
}

static bool copy_picture(FILE *from, const char *path)
{
    char block[16384];
    size_t bytes;
    FILE *to = fopen(path, "we");
    if (NULL == to) {
        return false;
    }
    bool good = true;
    rewind(from);
    while (good && 0 < (bytes = fread(block, 1, sizeof(block), from))) {
        good = bytes == fwrite(block, 1, bytes, to);
    }
    return 0 == fclose(to) && good && !ferror(from);
}

static char *line(const char *text, const char *detail)
{
    char together[512];
    snprintf(together, sizeof(together), "%s%s", text, detail);
    return text_printable(together, sizeof(together));
}

/* Runs gnuplot, with its output in `picture`. Returns NULL, or an error message. */
static char *draw_picture(const struct report *report, enum plot_kind kind, FILE *script,
                          FILE *picture, FILE *complaints)
{
    int status = 0;
    plot_script(report, kind, script);
    if (0 != fflush(script) || ferror(script)) {
        return line("no plot: ", strerror(errno));
    }
    rewind(script); /* gnuplot reads from the position of the descriptor that it shares with this
                       process */
    const int rc = run_gnuplot(script, picture, complaints, &status);
    if (ENOENT == rc) {
        return line("no plot: there is no gnuplot (install gnuplot, on Debian: apt-get install "
                    "gnuplot-nox)",
                    "");
    }
    if (0 != rc) {
        return line("no plot: cannot run gnuplot: ", strerror(rc));
    }
    if (!WIFEXITED(status) || 0 != WEXITSTATUS(status) ||
        0 == lseek(fileno(picture), 0, SEEK_END)) {
        char *complaint = last_complaint(complaints);
        char *why = line("no plot: gnuplot failed: ", complaint);
        free(complaint);
        return why;
    }
    return NULL;
}

bool plot_draw(const struct report *report, enum plot_kind kind, const char *path, char **why)
{
    FILE *script = scratch(), *picture = scratch(), *complaints = scratch();
    if (NULL == script || NULL == picture || NULL == complaints) {
        *why = line("no plot: ", strerror(errno));
    } else {
        *why = draw_picture(report, kind, script, picture, complaints);
        if (NULL == *why && !copy_picture(picture, path)) {
            *why = line("no plot: ", strerror(errno));
        }
    }
    FILE *const files[] = {script, picture, complaints};
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); ++f) {
        if (NULL != files[f]) {
            fclose(files[f]);
        }
    }
    return NULL == *why;
}
