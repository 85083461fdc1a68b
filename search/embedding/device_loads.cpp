#include "search/embedding/device_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/svg.hpp"
#include "ops/kernel_model.hpp"
#include "ops/workload/layers/torch_embedding_bag.hpp"
#include "ops/workload/table_shards.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostLines = 32;

double width_of(const std::vector<EmbeddingTable>& tables) {
  double width = 0;
  for (const EmbeddingTable& table : tables) {
    width += static_cast<double>(table.dimension);
  }
  return width;
}

double weights_of(const std::vector<EmbeddingTable>& tables) {
  double weights = 0;
  for (const EmbeddingTable& table : tables) {
    weights += static_cast<double>(table.rows) * static_cast<double>(table.dimension);
  }
  return weights;
}

/// What a rank has of the group's tables on its GPU.
Bytes memory_of(const ShardGroup& group, std::size_t rank, const ShardStorage& storage) {
  Bytes memory;
  for (const EmbeddingTable& table : group.shards[rank]) {
    memory +=
        on_gpu(table, group.sharding == TableSharding::DataParallel ? storage.replicated : storage.sharded);
  }
  return memory;
}

/// Adds what ranks hold of one group.
class Adding {
 public:
  Adding(const ShardingProblem& problem, std::vector<DeviceLoad>& loads)
      : problem_{problem}, loads_{loads}, storage_{problem.storage()} {}

  void add(const ShardGroup& group) {
    double all = 0;
    for (const auto& tables : group.shards) {
      all += width_of(tables);
    }
    for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
      add(group, rank, all);
    }
  }

 private:
  void add(const ShardGroup& group, std::size_t rank, double all) {
    DeviceLoad& load = loads_[rank];
    const std::vector<EmbeddingTable>& tables = group.shards[rank];
    const bool copied = group.sharding == TableSharding::DataParallel;
    load.shards += tables.size();
    load.memory += memory_of(group, rank, storage_);
    const auto ranks = static_cast<double>(loads_.size());
    const double samples = static_cast<double>(problem_.task().batch);
    if (!tables.empty()) {
      const ResolvedScenario& resolved = problem_.resolved();
      const GpuSpec& gpu = resolved.gpu_models[resolved.gpu_model_of_rank[rank]];
      load.compute += copied ? time_of(tables, gpu, samples / ranks, dense_optimizer)
                             : time_of(tables, gpu, samples, table_optimizer);
    }
    if (copied) {  // all-reduced: a ring sends a rank's part of the sums to all but one, and then the whole
      load.sent += 2 * (ranks - 1) / ranks * weights_of(tables) * problem_.gradient_of_copies();
    } else {  // rows of others' samples; gradients for others' tables
      const TravellingElements element = problem_.travelling_elements();
      load.sent +=
          samples / ranks *
          ((ranks - 1) * width_of(tables) * element.forward + (all - width_of(tables)) * element.backward);
    }
  }

  [[nodiscard]] Seconds time_of(const std::vector<EmbeddingTable>& tables, const GpuSpec& gpu, double samples,
                                Optimizer (*optimizer_of)(DlrmOptimizer)) const {
    const DlrmSpec& dlrm = *problem_.resolved().scenario.workload->model->dlrm;
    const auto batch = static_cast<std::int64_t>(samples);
    Seconds sum;
    for (const KernelCall& call : dlrm.embedding_kernels == EmbeddingKernels::EmbeddingBag
                                      ? table_by_table(tables, batch, dlrm.sparse_gradients)
                                      : together(tables, batch, optimizer_of(dlrm.optimizer))) {
      sum += model_for(call).predict(call, gpu).duration;
    }
    return sum;
  }

  static std::vector<KernelCall> together(const std::vector<EmbeddingTable>& tables, std::int64_t batch,
                                          Optimizer optimizer) {
    std::vector<KernelCall> calls;
    EmbeddingCacheInsert fetched{.batch = batch, .tables = {}};
    std::ranges::copy_if(tables, std::back_inserter(fetched.tables), [](const EmbeddingTable& table) {
      return table.location == TableLocation::HostCached;
    });
    if (!fetched.tables.empty()) {
      calls.push_back({"embedding_cache", DataType::FP32, std::move(fetched)});
    }
    for (const Direction direction : {Direction::Forward, Direction::Backward}) {
      calls.push_back(
          {"embedding", DataType::FP32,
           EmbeddingBags{.batch = batch, .tables = tables, .direction = direction, .optimizer = optimizer}});
    }
    return calls;
  }

  /// nn.EmbeddingBag.
  static std::vector<KernelCall> table_by_table(const std::vector<EmbeddingTable>& tables, std::int64_t batch,
                                                bool sparse_gradients) {
    std::vector<KernelCall> calls;
    for (const EmbeddingTable& table : tables) {
      calls.push_back(kernels::bag_look_up(batch, table));
      if (!sparse_gradients) {
        const std::vector<KernelCall> gradient = kernels::bag_dense_gradient(batch, table);
        calls.insert(calls.end(), gradient.begin(), gradient.end());
        continue;
      }
      calls.push_back(kernels::bag_gradient(batch, table));
      calls.push_back(kernels::bag_update(batch, table));
    }
    return calls;
  }

  const ShardingProblem& problem_;
  std::vector<DeviceLoad>& loads_;
  ShardStorage storage_;
};

/// Those that @p plan names, which it then has by their numbers among these: shard_tables() wants all it is
/// given in a plan.
std::vector<EmbeddingTable> named_tables(const ShardingProblem& problem, EmbeddingPlan& plan) {
  std::vector<EmbeddingTable> tables;
  for (TableShardingSpec& entry : plan.tables) {
    for (std::int64_t& table : entry.tables) {
      tables.push_back(problem.task().tables.at(static_cast<std::size_t>(table)).shape);
      table = static_cast<std::int64_t>(tables.size()) - 1;
    }
  }
  return tables;
}

/// Of the tables that @p plan names, memory or not.
std::vector<ShardGroup> shard_groups(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  const std::size_t ranks = problem.task().devices();
  std::vector<int> nodes(ranks);
  const auto by_node = problem.ranks_of_node();
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    for (const std::uint32_t rank : by_node[node]) {
      nodes[rank] = static_cast<int>(node);
    }
  }
  EmbeddingPlan numbered = plan;
  const std::vector<EmbeddingTable> tables = named_tables(problem, numbered);
  const std::vector<Bytes> endless(ranks, Bytes{std::numeric_limits<double>::infinity()});
  return shard_tables(tables, numbered, RankNodes{ranks, nodes}, endless, {});
}

template <class Value>
double largest_by_mean(const std::vector<DeviceLoad>& loads, Value value) {
  double most = 0, sum = 0;
  for (const DeviceLoad& load : loads) {
    most = std::max(most, value(load));
    sum += value(load);
  }
  return sum > 0 ? most * static_cast<double>(loads.size()) / sum : 1;
}

double compute_of(const DeviceLoad& load) {
  return load.compute / Seconds{1};
}
double sent_of(const DeviceLoad& load) {
  return load.sent / Bytes{1};
}
double tables_of(const DeviceLoad& load) {
  return load.memory / Bytes{1};
}

constexpr double kRow = 110, kBars = 80, kLeft = 20, kTop = 40, kWidth = 800;
constexpr double kWidestBar = 100, kLabel = 30;  // what a bar and a rank's number take at most, and at least

double bar_width(std::size_t ranks) {
  return std::clamp(kWidth / static_cast<double>(ranks), 2.0, kWidestBar);
}

/// Under the last bars, so many that they do not touch.
void label_ranks(SvgDrawing& drawing, std::size_t ranks, double y) {
  const double width = bar_width(ranks);
  const auto each = static_cast<std::size_t>(std::ceil(kLabel / width));
  for (std::size_t rank = 0; rank < ranks; rank += each) {
    drawing.add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                kLeft + width * (static_cast<double>(rank) + 0.4), y, rank);
  }
  drawing.add(R"(<text x="{}" y="{}" fill="#444444">rank</text>)", kLeft, y + 16);
}

template <class Value, class Text>
void draw_bars(SvgDrawing& drawing, const std::vector<DeviceLoad>& loads, std::size_t row,
               const std::string& name, Value value, Text text) {
  double most = 0;
  for (const DeviceLoad& load : loads) {
    most = std::max(most, value(load));
  }
  const double width = bar_width(loads.size());
  const double bottom = kTop + kRow * static_cast<double>(row) + kBars + 20;
  drawing.add(R"(<text x="{}" y="{:.1f}">{}, at most {}</text>)", kLeft, bottom - kBars - 6, name,
              text(most));
  drawing.add(R"(<path d="M{} {:.1f} h{:.1f}" stroke="#888888"/>)", kLeft, bottom,
              width * static_cast<double>(loads.size()));
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    const double height = most > 0 ? kBars * value(loads[rank]) / most : 0;
    drawing.add(
        R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"><title>rank {}: {}</title></rect>)",
        kLeft + width * static_cast<double>(rank), bottom - height, 0.8 * width, height, svg_colour(row),
        rank, text(value(loads[rank])));
  }
}

}  // namespace

std::vector<DeviceLoad> device_loads(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  const std::size_t ranks = problem.task().devices();
  std::vector<DeviceLoad> loads(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    loads[rank].capacity = problem.task().capacity[rank];
  }
  Adding adding{problem, loads};
  for (const ShardGroup& group : shard_groups(problem, plan)) {
    adding.add(group);
  }
  return loads;
}

std::vector<Bytes> table_memory(const ShardingProblem& problem, const EmbeddingPlan& plan) {
  const ShardStorage storage = problem.storage();
  std::vector<Bytes> memory(problem.task().devices());
  for (const ShardGroup& group : shard_groups(problem, plan)) {
    for (std::size_t rank = 0; rank < memory.size(); ++rank) {
      memory[rank] += memory_of(group, rank, storage);
    }
  }
  return memory;
}

std::string load_lines(const std::vector<DeviceLoad>& loads) {
  std::string text =
      fmt::format("  {:>4}  {:>6}  {:>12}  {:>12}  {:>12}\n", "rank", "shards", "look-ups", "sent", "tables");
  for (std::size_t rank = 0; rank < std::min(loads.size(), kMostLines); ++rank) {
    const DeviceLoad& load = loads[rank];
    text += fmt::format("  {:>4}  {:>6}  {:>12}  {:>12}  {:>12}\n", rank, load.shards,
                        to_string(load.compute), to_string(load.sent), to_string(load.memory));
  }
  if (loads.size() > kMostLines) {
    text += fmt::format("  ... and {} more\n", loads.size() - kMostLines);
  }
  return text + fmt::format("  largest / mean  {:>12.3f}  {:>12.3f}  {:>12.3f}\n",
                            largest_by_mean(loads, compute_of), largest_by_mean(loads, sent_of),
                            largest_by_mean(loads, tables_of));
}

std::string load_picture(const std::vector<DeviceLoad>& loads, const std::string& title) {
  SvgDrawing drawing;
  drawing.add(R"(<text x="{}" y="20" font-weight="bold">{}</text>)", kLeft, svg_escaped(title));
  draw_bars(drawing, loads, 0, "look-ups and their backward pass", compute_of,
            [](double value) { return to_string(Seconds{value}); });
  draw_bars(drawing, loads, 1, "sent", sent_of, [](double value) { return to_string(Bytes{value}); });
  draw_bars(drawing, loads, 2, "memory of tables", tables_of,
            [](double value) { return to_string(Bytes{value}); });
  label_ranks(drawing, loads.size(), kTop + 3 * kRow + 4);
  return drawing.document(kLeft + std::max(kWidth, 2.0 * static_cast<double>(loads.size())) + 40,
                          kTop + 3 * kRow + 40, 12);
}

}  // namespace lockstep
