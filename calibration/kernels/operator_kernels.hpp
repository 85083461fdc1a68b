#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/kernel.hpp"

namespace lockstep {

/// The kernels of an operator that a row of a validation set describes: those that a workload would launch
/// for it. Of the families of kernel_call() one kernel; and
///
///   experts   operator=grouped_mm experts=8 tokens=16384 hidden=4096 feed_forward=14336
///             of a mixture of experts whose tokens are spread evenly: grouped_mm (all first products),
///             one_expert (one of them), index_select and index_add (a row of each token), topk (the best 8
///             experts of each token, of FP32 scores), argsort (tokens by their expert, stable, of int64)
///   batch_norm, max_pool   pass=forward (or backward) batch=64 channels=256 size=56 channels_first=1
///             (square images; pools of 3 x 3, two apart)
///   token_embedding        pass=backward rows=50257 columns=768 picks=16384   (nn.Embedding, dense gradient)
///   embedding_bag          pass=forward rows=1000000 dim=64 batch=2048 pooling=20   (nn.EmbeddingBag of one
///             table, rows drawn evenly, no offsets given, sparse gradient)
///   reduction              operator=rows rows=4096 columns=1024   (sums of all rows: rows; of each row:
///             columns; of everything: all, norm)
///
/// @throws std::invalid_argument for a family, type or word that is none
[[nodiscard]] std::vector<KernelCall> operator_kernels(const std::string& family, const std::string& type,
                                                       const std::map<std::string, std::string>& words);

}  // namespace lockstep
