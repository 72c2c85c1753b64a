/* cmd_overview.c: `tessera` with no words: what was found here, what can be done with it.
 *
 * Invariant: it always succeeds. A machine on which nothing is found is told what is missing.
 */
#include "commands.h"
#include "devices.h"
#include "environment.h"
#include "say.h"

#include <stdio.h>

static void print_cache(const char *name, int64_t bytes) {
    if (bytes >= 1048576)
        printf(", %s %.4g MiB", name, (double)bytes / 1048576);
    else if (bytes > 0)
        printf(", %s %.4g KiB", name, (double)bytes / 1024);
}

static void print_device(int index, const tess_device_info *d) {
    tess_gpu_info gpu;
    printf("  %-12s %s", d->name, d->model);
    if (tess_describe_gpu(index, &gpu) == TESS_OK)
        printf(", %d multiprocessors, %s, memory %.4g GiB", d->cores, d->isa, (double)d->memory / 1073741824);
    else
        printf(", %d core%s, %d thread%s, %s", d->cores, d->cores == 1 ? "" : "s", d->threads,
               d->threads == 1 ? "" : "s", d->isa);
    print_cache("L1d", d->l1d);
    print_cache("L2", d->l2);
    print_cache("L3", d->l3);
    printf("\n");
}

static void print_devices(void) {
    tess_device_info d;
    printf("Devices\n");
    if (tess_count_devices() == 0) printf("  none: %s\n", tess_error(NULL));
    for (int i = 0; i < tess_count_devices(); i++)
        if (tess_describe_device(i, &d) == TESS_OK) print_device(i, &d);
    devices_print_refusal();
    devices_print_absence();
}

int overview_run(const command *all, int count) {
    printf("tessera %s (%s): matrix multiplication, C = alpha*A*B + beta*C\n\n", TESS_VERSION_STRING,
           environment_revision());
    print_devices();
    printf("\nLibraries for a GPU\n");
    devices_print_libraries(false);
    printf("\nPeers of the cpu, to measure against\n");
    devices_print_peers(false);
    printf("\nCommands\n");
    for (int i = 0; i < count; i++) printf("  %-10s %s\n", all[i].spec->command, all[i].spec->summary);
    printf("  %-10s %s\n", "help", "The help of a command: tessera help bench");
    printf("\nTry\n"
           "  tessera list                 the ladder of kernels\n"
           "  tessera bench --sizes 512    climb it: every kernel on one size, beside the peer\n"
           "  tessera verify               check every kernel on awkward shapes\n");
    return EXIT_FINE;
}
