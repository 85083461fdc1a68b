#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "scenario/recorded_tables.hpp"
#include "scenario/scenario.hpp"
#include "traces/replay/what_if.hpp"

namespace lockstep {

/// Settings of `lockstep replay` besides the traces (docs/replay.md).
struct ReplaySpec {
  std::optional<Named<ClusterSpec>> cluster;
  std::optional<Named<GpuSpec>> gpu, recorded_gpu;
  std::vector<std::string> execution_traces;
  std::optional<RecordedTables> embedding_tables;
  CollectiveSettings collectives;
  int ranks = 0;
  std::optional<Named<KernelFamilyList>> kernel_families;
  replay::WhatIfSpec what_if;

  template <class Visitor>
  static void describe(Visitor& key, ReplaySpec& spec) {
    key.optional("cluster", spec.cluster, std::nullopt,
                 "simulates collectives on this machine; left out: they take as long as they did");
    key.optional(
        "gpu", spec.gpu, std::nullopt,
        "predicts kernels on this GPU from the shapes of their operators; left out: they take as long "
        "as they did");
    key.optional(
        "recorded_gpu", spec.recorded_gpu, std::nullopt,
        "the GPU of the traces: with 'gpu', kernels that no model answers for are scaled by the ratio "
        "of memory bandwidths, a guess; left out: they take as long as they did");
    key.optional(
        "execution_traces", spec.execution_traces, {},
        "PyTorch execution traces, one for each rank in their order: they say the shapes of operators "
        "where the profile does not");
    key.optional(
        "embedding_tables", spec.embedding_tables, std::nullopt,
        "with 'gpu', the embedding tables of the recorded job, which traces do not hold: a model's name, or "
        "{tables: [...]}; left out: tables as those of a production plan");
    key.optional("collectives", spec.collectives, CollectiveSettings{},
                 "how ranks communicate on the cluster");
    key.optional("ranks", spec.ranks, 0,
                 "ranks to replay, a multiple of the traces: each trace stands for several ranks that do the "
                 "same; 0: as "
                 "many as traces");
    key.optional(
        "kernel_families", spec.kernel_families, std::nullopt,
        "your own list of kernel families, asked before the standard one: which kernels communicate, "
        "and whom what_if.kernels means");
    key.optional("what_if", spec.what_if, replay::WhatIfSpec{}, "changes to what was recorded");
  }
  void check() const {
    constexpr int kMostRanks = 1 << 20;
    if (ranks < 0 || ranks > kMostRanks) {
      throw FieldError{"ranks", fmt::format("not negative, and at most {}, not {}", kMostRanks, ranks)};
    }
    if (embedding_tables && !gpu) {
      throw FieldError{"embedding_tables", "says nothing without 'gpu', the GPU to predict kernels on"};
    }
    if (recorded_gpu && !gpu) {
      throw std::invalid_argument{"'recorded_gpu' says nothing without 'gpu', the GPU to predict kernels on"};
    }
  }
};

}  // namespace lockstep
