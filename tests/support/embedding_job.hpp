#pragma once

/// @file
/// Small DLRMs under a given plan, and what their ranks communicate.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <string>
#include <vector>

#include "ops/workload/dlrm.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {

/// A DLRM of which only the tables matter.
inline DlrmSpec tables_only(std::vector<TableGroupSpec> tables) {
  DlrmSpec spec;
  spec.bottom_mlp = {4, 8};
  spec.top_mlp = {1};
  spec.tables = std::move(tables);
  spec.interaction = Interaction::Concatenate;
  spec.loss_readback = false;
  return spec;
}

struct PlannedJob {
  DlrmSpec spec;
  std::vector<TableShardingSpec> plan;
  std::int64_t batch = 64;
  std::vector<int> nodes{0, 0, 0, 0};  ///< of each rank
  bool input_distribution = false;
  InputPipeline pipeline = InputPipeline::None;
  CommunicationTypes types{};
  std::vector<VertexId> gpus{};  ///< left out: 0, 1, ...

  [[nodiscard]] Job job(Bytes memory = Bytes{80e9}) const {
    std::vector<VertexId> on = gpus;
    if (on.empty()) {
      on.resize(nodes.size());
      std::iota(on.begin(), on.end(), 0U);
    }
    const std::vector<Bytes> memories(nodes.size(), memory);
    ParallelismSpec parallelism;
    EmbeddingPlan whole;
    whole.tables = plan;
    parallelism.embedding.plan = Named<EmbeddingPlan>{whole, ""};
    parallelism.embedding.input_distribution = input_distribution;
    parallelism.embedding.pipeline = pipeline;
    parallelism.embedding.communication_type = types;
    return dlrm_job(spec, {.global_batch = batch,
                           .precision = Precision::FP32,
                           .framework = {},
                           .parallelism = parallelism,
                           .host = plain_host(),
                           .gradient_accumulation = 1,
                           .clip_gradients = false,
                           .gpus = on,
                           .gpu_memory = memories,
                           .gpu_nodes = nodes});
  }
};

inline TableShardingSpec planned(std::vector<std::int64_t> tables, TableSharding sharding,
                                 std::vector<std::int64_t> ranks = {}) {
  return {.at = {}, .tables = std::move(tables), .sharding = sharding, .ranks = std::move(ranks), .node = {}};
}
inline TableShardingSpec planned_on_node(std::vector<std::int64_t> tables, std::int64_t node) {
  return {.at = {},
          .tables = std::move(tables),
          .sharding = TableSharding::TableRowWise,
          .ranks = {},
          .node = node};
}

/// The collectives that @p rank calls, in the order of the program: main thread, then autograd thread.
inline std::vector<CollectiveCall> collectives_of(const Job& job, std::size_t rank) {
  std::vector<CollectiveCall> calls;
  const Program& program = *job.programs.at(0);
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Collective) {
        calls.push_back(program.collectives.at(i.per_rank ? job.ranks.at(rank).collective_slots.at(i.operand)
                                                          : i.operand));
      }
    }
  }
  return calls;
}

/// `reduce_scatter world 4096`; an uneven all-to-all with its bytes by member: `all_to_all world 96 [64,
/// 32]`.
inline std::string in_words(const Job& job, const CollectiveCall& call) {
  const std::string text = fmt::format("{} {} {}", to_string(call.kind),
                                       job.programs.at(0)->groups.at(call.group), call.size.in_base_units());
  return call.send_bytes.empty() ? text : fmt::format("{} [{}]", text, fmt::join(call.send_bytes, ", "));
}

inline std::vector<std::string> exchanges_in_words(const Job& job, std::size_t rank) {
  std::vector<std::string> lines;
  for (const CollectiveCall& call : collectives_of(job, rank)) {
    if (call.kind != CollectiveKind::AllReduce) {
      lines.push_back(in_words(job, call));
    }
  }
  return lines;
}

}  // namespace lockstep
