/* interrupt.h: Ctrl-C that lets a run finish its row. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

/* From now on the first SIGINT, SIGTERM or SIGHUP is only remembered; a second one ends the program at once. */
void interrupt_watch(void);
/* The signal that came, or 0. */
int interrupt_came(void);

#endif
