/* interrupt.c: remembers SIGINT, SIGTERM and SIGHUP.
 *
 * Invariant: the handler only stores a number; everything else happens where it is asked for.
 */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

/* A second one, of any kind, ends the program at once. */
static void remember(int signal_number) {
    if (came != 0) {
        signal(signal_number, SIG_DFL);
        raise(signal_number); /* it comes when this returns */
    }
    came = signal_number;
}

void interrupt_watch(void) {
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A terminal that is closed; but nohup has it ignored. */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

int interrupt_came(void) {
    return came;
}
