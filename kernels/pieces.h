/* pieces.h: 16 bytes that one instruction moves, and lines of them that begin anywhere: of what a copy brings to aligned memory
 * (lines.cu), and of rows of C that are not aligned (boxes.h). */
#ifndef PIECES_H
#define PIECES_H

VECTOR_TYPE(piece, unsigned, 4);

/* A piece that nobody will ask for again: in the caches it makes way first. Not to be asked for ahead of await_last_kernel. */
DEVICE piece read_once(const piece *from) {
#if defined(__CUDA_ARCH__)
    piece p;
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(p.at[0]), "=r"(p.at[1]), "=r"(p.at[2]), "=r"(p.at[3])
                 : "l"(from));
    return p;
#else
    return *from;
#endif
}

/* To a multiple of 16 bytes. */
DEVICE void write_piece(void *to, piece p) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(p.at[0]), "r"(p.at[1]),
                 "r"(p.at[2]), "r"(p.at[3])
                 : "memory");
#else
    *(piece *)to = p;
#endif
}

/* 16 bytes from byte number `skip` of two pieces on. */
DEVICE piece shifted(piece low, piece high, int skip) {
    unsigned words[8];
    piece p;
    UNROLL
    for (int i = 0; i < 4; i++) words[i] = low.at[i], words[4 + i] = high.at[i];
    UNROLL
    for (int i = 0; i < 6; i++) words[i] = skip & 8 ? words[i + 2] : words[i];
    UNROLL
    for (int i = 0; i < 5; i++) words[i] = skip & 4 ? words[i + 1] : words[i];
    UNROLL
    for (int i = 0; i < 4; i++)
        p.at[i] = (unsigned)(((unsigned long long)words[i + 1] << 32 | words[i]) >> 8 * (skip & 3));
    return p;
}

#endif
