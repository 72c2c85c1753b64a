/* barriers.h: barriers in shared memory that count arrivals and bytes, and the shared memory of other blocks of a cluster;
 * from sm_90 on. Addresses of shared memory are 32-bit numbers. */
#ifndef BARRIERS_H
#define BARRIERS_H

DEVICE unsigned shared_at(const void *memory) {
    return (unsigned)__cvta_generic_to_shared(memory);
}

/* The same place in another block of the cluster. */
DEVICE unsigned block_address(unsigned address, int block) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}

DEVICE void barrier_init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/* After all are made, before others use them. */
DEVICE void barrier_publish(void) {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
DEVICE void barrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* At the same barrier of another block of the cluster. */
DEVICE void barrier_arrive_at(unsigned barrier, int block) {
    asm volatile("{\n.reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
                 "r"(block)
                 : "memory");
}
/* Arrives, and makes the phase last until so many bytes have come. */
DEVICE void barrier_expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
/* Until the phase of that parity is over; and, to see what other blocks of the cluster have written. */
#define BARRIER_WAIT(acquire, barrier, parity)                                           \
    asm volatile("{\n.reg .pred over;\n"                                                 \
                 "AGAIN:\n"                                                              \
                 "mbarrier.try_wait.parity" acquire ".shared::cta.b64 over, [%0], %1;\n" \
                 "@over bra OVER;\n"                                                     \
                 "bra AGAIN;\n"                                                          \
                 "OVER:\n}" ::"r"(barrier),                                              \
                 "r"(parity)                                                             \
                 : "memory")
DEVICE void barrier_wait(unsigned barrier, unsigned parity) {
    BARRIER_WAIT("", barrier, parity);
}
DEVICE void barrier_wait_cluster(unsigned barrier, unsigned parity) {
    BARRIER_WAIT(".acquire.cluster", barrier, parity);
}

#endif
