/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting of parameters; see fit.h. The sum of squares of relative errors is minimised with the
 * simplex method of Nelder and Mead, as implemented in GSL. The method is applied to the logarithms
 * of the parameters, so that no parameter becomes negative. A machine inherits the parameters that
 * its own file does not set from the first machine. */
#include "bench/nicsim/fit.h"

#include <math.h>
#include <stdio.h>

#if defined(HAVE_GSL)

#include <gsl/gsl_multimin.h>

/* The parameters of one machine that are fitted. */
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

static bool has_fitted_parameters(const struct nicsim_file *file)
{
    bool own = false;
    for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
        own = own || (file->given[p] && file->sources[p].fitted);
    }
    return own;
}

/* Copies the values of the first machine to the others, except for parameters that are set in their
 * own files. */
static void inherit_parameters(struct nicsim_papers *papers)
{
    for (uint32_t p = 0; NULL != nicsim_parameter_name(p); ++p) {
        for (int m = 1; m < NICSIM_MACHINES; ++m) {
            if (!papers->machines[m].given[p]) {
                *nicsim_parameter(&papers->machines[m].machine, p) =
                    *nicsim_parameter(&papers->machines[0].machine, p);
            }
        }
    }
}

/* Returns whether the parameters of this machine are fitted to this value. The parameters of a
 * machine are fitted to the values that were measured on it. Those of the first machine are also
 * fitted to the values of machines that have no fitted parameters of their own. */
static bool is_fitted_to(const struct fit *fit, const struct nicsim_figure *figure)
{
    return figure->fitted &&
           (figure->number == fit->machine ||
            (0 == fit->machine && !has_fitted_parameters(&fit->papers->machines[figure->number])));
}

static double sum_of_squares(const gsl_vector *logarithms, void *context)
{
    struct fit *fit = context;
    for (uint32_t i = 0; i < fit->count; ++i) {
        *value_of(fit, i) = exp(gsl_vector_get(logarithms, i));
    }
    inherit_parameters(fit->papers);
    double sum = 0;
    for (uint32_t i = 0; i < fit->papers->count; ++i) {
        struct nicsim_figure *f = &fit->papers->figures[i];
        if (is_fitted_to(fit, f) && nicsim_figure_simulate(f)) {
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
    gsl_multimin_function function = {sum_of_squares, fit->count, fit};
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
        (void)sum_of_squares(gsl_multimin_fminimizer_x(simplex), fit);
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
            if (papers->machines[m].given[p] && papers->machines[m].sources[p].fitted) {
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
