/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting; see fit.h. This is the simplex method of Nelder and Mead (GSL's). It works on the
 * logarithms of the parameters, so none becomes negative. It makes the sum of squares of relative
 * errors small. A machine that is like another one follows it in all that its own file does not
 * say.
 */
#include "bench/nicsim/fit.h"

#include <math.h>
#include <stdio.h>

#if defined(HAVE_GSL)

#include <gsl/gsl_multimin.h>

/* One machine's own parameters. */
struct fit {
    struct nicsim_papers *papers;
    int machine;
    uint32_t count;
    uint32_t parameter[NICSIM_PARAMETERS_MOST];
};

static double *value_of(const struct fit *fit, uint32_t i)
{
    return nicsim_parameter(&fit->papers->machines[fit->machine].machine, fit->parameter[i]);
}

static bool has_its_own(const struct nicsim_file *file)
{
    bool own = false;
    for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
        own = own || (file->said[p] && file->sources[p].fitted);
    }
    return own;
}

/* Give the first machine's values to the others, for all that their own files do not say. */
static void hand_down(struct nicsim_papers *papers)
{
    for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
        for (int m = 1; m < NICSIM_MACHINES; ++m) {
            if (!papers->machines[m].said[p]) {
                *nicsim_parameter(&papers->machines[m].machine, p) =
                    *nicsim_parameter(&papers->machines[0].machine, p);
            }
        }
    }
}

/* Are this machine's parameters fitted to this figure? They are to its own figures. The first
 * machine's are also fitted to those of machines that have no fitted parameters. */
static bool counts(const struct fit *fit, const struct nicsim_figure *figure)
{
    return figure->fitted &&
           (figure->number == fit->machine ||
            (0 == fit->machine && !has_its_own(&fit->papers->machines[figure->number])));
}

static double badness(const gsl_vector *logarithms, void *context)
{
    struct fit *fit = context;
    for (uint32_t i = 0; i < fit->count; ++i) {
        *value_of(fit, i) = exp(gsl_vector_get(logarithms, i));
    }
    hand_down(fit->papers);
    double sum = 0;
    for (uint32_t i = 0; i < fit->papers->count; ++i) {
        struct nicsim_figure *f = &fit->papers->figures[i];
        if (counts(fit, f) && nicsim_figure_simulate(f)) {
            const double error = f->simulated / f->paper - 1;
            sum += error * error;
        }
    }
    return sum;
}

static void minimise(struct fit *fit)
{
    enum { STEPS = 3000, RESTARTS = 3 };
    gsl_vector *at = gsl_vector_alloc(fit->count), *span = gsl_vector_alloc(fit->count);
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, fit->count);
    gsl_multimin_function function = {badness, fit->count, fit};
    for (int restart = 0; restart < RESTARTS; ++restart) {
        for (uint32_t i = 0; i < fit->count; ++i) {
            gsl_vector_set(at, i, log(*value_of(fit, i)));
        }
        gsl_vector_set_all(span, 0.3);
        gsl_multimin_fminimizer_set(simplex, &function, at, span);
        for (int step = 0; step < STEPS && 0 == gsl_multimin_fminimizer_iterate(simplex) &&
                           gsl_multimin_fminimizer_size(simplex) > 1e-4;
             ++step) {
        }
        (void)badness(gsl_multimin_fminimizer_x(simplex), fit);
        fprintf(stderr, "sum of squares %.6f\n", gsl_multimin_fminimizer_minimum(simplex));
    }
    gsl_multimin_fminimizer_free(simplex);
    gsl_vector_free(span);
    gsl_vector_free(at);
}

bool nicsim_fit(struct nicsim_papers *papers)
{
    for (int m = 0; m < NICSIM_MACHINES; ++m) {
        struct fit fit = {.papers = papers, .machine = m};
        for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
            if (papers->machines[m].said[p] && papers->machines[m].sources[p].fitted) {
                fit.parameter[fit.count++] = p;
            }
        }
        if (0 == fit.count) {
            continue;
        }
        minimise(&fit);
        for (uint32_t i = 0; i < fit.count; ++i) {
            printf("%-12s %-18s %10.3f\n", papers->machines[m].machine.name,
                   nicsim_parameter_name(fit.parameter[i]), *value_of(&fit, i));
        }
    }
    return true;
}

#else

bool nicsim_fit(struct nicsim_papers *papers)
{
    (void)papers;
    fprintf(stderr, "nicsim: built without GSL, which fits parameters: install libgsl-dev, then "
                    "configure again\n");
    return false;
}

#endif
