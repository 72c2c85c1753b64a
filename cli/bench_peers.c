/* bench_peers.c: finds the peers that bench compares with: libraries of the host for a CPU, kernels of the
 * registry for a GPU.
 *
 * Invariant: a peer that was asked for is in the request, or a sentence says why not.
 */
#include "bench_peers.h"
#include "nearest.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unknown_peer(const char *name) {
    if (strcmp(name, "cublas") == 0 || strcmp(name, "cublaslt") == 0)
        return say_usage("the peer %s multiplies on a GPU; with the cpu compare openblas, blis, mkl, armpl "
                         "or numpy",
                         name);
    int near = nearest_name(name, peer_names, peer_name_count);
    if (near >= 0) return say_usage("there is no peer '%s'; did you mean '%s'?", name, peer_names[near]);
    return say_usage("there is no peer '%s'; it must be auto, openblas, blis, mkl, armpl, numpy, none or the "
                     "path of a library (with a slash)",
                     name);
}

/* A peer that was asked for must be there; one that was not is only missed. */
static int add_blas(bench_request *r, const char *name, bool asked) {
    bench_peer *added = &r->peers[r->peer_count];
    if (!peer_is_name(name)) return unknown_peer(name);
    if (peer_find(&added->blas, name, NULL)) {
        memcpy(added->name, added->blas.name, sizeof added->name);
        r->peer_count++;
        return EXIT_FINE;
    }
    if (strchr(name, '/') != NULL) {
        say_error("'%s' could not be opened as a BLAS with a CBLAS interface (cblas_sgemm, cblas_dgemm)",
                  name);
        return EXIT_CHECK;
    }
    if (!asked) {
        say_note("no BLAS library was found to compare with; to get one: " PEER_ADVICE);
        return EXIT_FINE;
    }
    say_error("the peer %s was not found; 'tessera devices --verbose' names the places searched; to get "
              "one: " PEER_ADVICE,
              name);
    return EXIT_CHECK;
}

/* Whether the library behind a peer is here and works: a small product can be computed with it. On failure *why is a
 * sentence. */
static bool can_be_run(const bench_request *r, const char *kernel, char why[PROBLEM_SENTENCE]) {
    const problem_spec small =
        {.types = {TESS_F32, TESS_F32}, .m = 64, .n = 64, .k = 64, .batch = 1, .alpha = 1, .seed = 1};
    problem p;
    tess_plan *plan = NULL;
    bool good = problem_open(&p, &small, r->ctx) && problem_fill(&p, PROBLEM_RANDOM, why);
    if (good) {
        good = problem_plan(&p, r->ctx, &(tess_options){.kernel = kernel}, &plan) == TESS_OK &&
               problem_run(&p, plan) == TESS_OK && tess_wait(r->ctx) == TESS_OK;
        if (!good) snprintf(why, PROBLEM_SENTENCE, "%s", tess_error(r->ctx));
    }
    tess_free_plan(plan);
    problem_free(&p);
    return good;
}

/* On a GPU peers are kernels with number 0: the first is what "auto" takes. */
static int add_kernel_peer(bench_request *r, const char *name, bool asked) {
    tess_kernel_info kernel;
    char known[128] = "", why[PROBLEM_SENTENCE] = "there is no memory to try it";
    size_t used = 0;
    for (int i = 0; i < tess_count_kernels(); i++) {
        if (tess_describe_kernel(i, &kernel) != TESS_OK || kernel.number != KERNELS_PEER) continue;
        if (strcmp(kernel.device, r->device.kernels) != 0) continue;
        bool meant = strcmp(name, "auto") == 0 || strcmp(name, kernel.name) == 0;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s, ", kernel.name);
        if (!meant) continue;
        if (can_be_run(r, kernel.name, why)) {
            bench_peer *added = &r->peers[r->peer_count++];
            *added = (bench_peer){.is_kernel = true};
            snprintf(added->name, sizeof added->name, "%s", kernel.name);
            return EXIT_FINE;
        }
        if (!asked) {
            say_note("there is no peer to compare with: %s", why);
            return EXIT_FINE;
        }
        say_error("the peer %s cannot be used: %s", kernel.name, why);
        return EXIT_CHECK;
    }
    if (!asked) return EXIT_FINE;
    return say_usage("there is no peer '%s' on %s; it must be auto, %snone", name, r->device.name, known);
}

static int add_peer(bench_request *r, const char *name, bool asked) {
    if (strcmp(name, "none") == 0) return EXIT_FINE;
    if (r->peer_count == BENCH_PEERS_MAX) return say_usage("--peer takes at most %d names", BENCH_PEERS_MAX);
    return r->device.own_memory ? add_kernel_peer(r, name, asked) : add_blas(r, name, asked);
}

/* $TESSERA_PEER names a library of the host: a GPU's peer is asked for on the command line. */
int bench_read_peers(bench_request *r, const char *text) {
    if (text == NULL && !r->device.own_memory) text = getenv("TESSERA_PEER");
    if (text == NULL || text[0] == '\0') return add_peer(r, "auto", false);
    char *copy = strdup(text), *rest = copy;
    int status = copy != NULL ? EXIT_FINE : EXIT_CHECK;
    if (copy == NULL) say_error("out of memory");
    for (char *name; status == EXIT_FINE && (name = strsep(&rest, ",")) != NULL;)
        status = add_peer(r, name, strcmp(name, "auto") != 0);
    free(copy);
    return status;
}
