/* peers.h: NVIDIA's own products, as what our kernels are measured against: cublas.c and cublaslt.c. */
#ifndef PEERS_H
#define PEERS_H

#include "peer_call.h"

tess_status cublas_queue(cuda_device *self, const peer_call *call, char *workspace, cu_stream stream,
                         sentence *why);
tess_status cublaslt_queue(cuda_device *self, const peer_call *call, char *workspace, cu_stream stream,
                           sentence *why);
void cublas_close(cuda_peers *peers);
void cublaslt_close(cuda_peers *peers, int usable);

#endif
