#include "schedule/transition_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>

#include "ops/program_builder.hpp"

namespace lockstep {
namespace {

constexpr double kFloat = 4;
constexpr double kSegment = 20.0 * 1024 * 1024;  // c10/cuda/CUDACachingAllocator.h, kLargeBuffer
constexpr const char* kReplicas = "replicas";
constexpr const char* kWorld = "world";

std::int64_t floats(double bytes) {
  return std::max<std::int64_t>(1, std::llround(bytes / kFloat));
}

CollectiveCall call_of(CollectiveKind kind, double bytes) {
  CollectiveCall call;
  call.kind = kind;
  call.size = Bytes{bytes};
  return call;
}

/// Writes the Program that all ranks run; what differs by rank is in slots.
class TransitionWriter {
 public:
  TransitionWriter(const TransitionWork& work, const TransitionWaits& waits, const HostOverheads& host,
                   std::size_t ranks, bool has_replicas)
      : work_{work},
        waits_{waits},
        rank_{host},
        stream_{rank_.stream("compute")},
        ranks_{ranks},
        has_replicas_{has_replicas} {}

  Program write() {
    rank_.begin_range("transition");
    if (work_.scored > 0) score();
    states();
    tables();
    host();
    rank_.wait_device();
    rank_.end_range();
    return std::move(rank_).build();
  }

  /// Kernels and calls that differ by rank, as numbers by slot and rank.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& kernel_slots() const { return kernels_; }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& collective_slots() const {
    return collectives_;
  }

 private:
  void launch(const std::string& name, const KernelWork& work) {
    rank_.begin(name);
    rank_.launch(stream_, {name, DataType::FP32, work});
    rank_.end();
  }

  void communicate(const std::string& name, const char* group, CollectiveCall call) {
    call.group = rank_.group(group);
    rank_.begin(name);
    rank_.collective(stream_, call);
    rank_.end();
  }

  void score() {
    const auto rows = static_cast<std::int64_t>(std::max(1.0, work_.structures));
    rank_.begin_range("score");
    launch("score", Reduction{rows, std::max<std::int64_t>(1, floats(work_.scored) / rows), false});
    if (work_.share > 1 && has_replicas_) {
      communicate("c10d::allreduce_", kReplicas,
                  call_of(CollectiveKind::AllReduce, kFloat * static_cast<double>(rows)));
    }
    launch(
        "sort",
        Pointwise{
            .elements = rows, .reads = 2, .writes = 2, .flops = std::log2(1.0 + static_cast<double>(rows))});
    rank_.wait_stream(stream_);
    rank_.end_range();
  }

  void states() {
    rank_.begin_range("states");
    if (work_.shared > 0 && has_replicas_) {
      communicate("c10d::_allgather_base_", kReplicas, call_of(CollectiveKind::AllGather, work_.shared));
    }
    if (work_.gathered > 0) {
      launch("gather", Concat{floats(work_.gathered), 1, true});
    }
    if (work_.filled > 0) {
      launch("fill", Memset{Bytes{work_.filled}});
    }
    if (work_.broadcast > 0 && has_replicas_) {
      communicate("c10d::broadcast_", kReplicas, call_of(CollectiveKind::Broadcast, work_.broadcast));
    }
    rank_.end_range();
  }

  void tables() {
    const auto by_rank = [&](const char* name, double TableWork::*bytes, auto kernel) {
      if (std::ranges::any_of(work_.tables, [&](const TableWork& of_rank) { return of_rank.*bytes > 0; })) {
        rank_.begin(name);
        (void)rank_.launch_per_rank(stream_);
        rank_.end();
        std::vector<std::uint32_t>& slot = kernels_.emplace_back();
        for (const TableWork& of_rank : work_.tables) {
          slot.push_back(rank_.intern(KernelCall{name, DataType::FP32, kernel(of_rank.*bytes)}));
        }
      }
    };
    by_rank("score rows", &TableWork::scored, [](double bytes) {
      return KernelWork{Reduction{1, floats(bytes), false}};
    });
    by_rank("gather rows", &TableWork::gathered, [](double bytes) {
      return KernelWork{Concat{floats(bytes), 1, true}};
    });
    by_rank("fill rows", &TableWork::filled, [](double bytes) {
      return KernelWork{Pointwise{.elements = floats(bytes), .reads = 0, .writes = 1}};
    });
    if (!work_.moved.empty()) {
      const GroupId world = rank_.group(kWorld);
      rank_.begin("c10d::alltoall_base_");
      (void)rank_.collective_per_rank(stream_);
      rank_.end();
      std::vector<std::uint32_t>& slot = collectives_.emplace_back();
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        slot.push_back(rank_.intern(rows_of(rank, world)));
      }
    }
  }

  [[nodiscard]] CollectiveCall rows_of(std::size_t rank, GroupId world) const {
    CollectiveCall call = call_of(CollectiveKind::AllToAll, 0);
    call.group = world;
    call.send_bytes.resize(ranks_);
    for (const MovedTable& table : work_.moved) {
      if (static_cast<std::size_t>(table.from) == rank) {
        call.send_bytes[static_cast<std::size_t>(table.to)] += table.bytes;
      }
    }
    call.size = Bytes{std::accumulate(call.send_bytes.begin(), call.send_bytes.end(), 0.0)};
    return call;
  }

  void host() {
    const auto& calls = rank_.host().runtime_calls;
    if (calls.contains(RuntimeCall::Malloc) && calls.contains(RuntimeCall::Free)) {
      const double segments = std::ceil((work_.gathered + work_.filled) / kSegment);  // of dense states
      const Seconds each =
          rank_.host().duration_of(RuntimeCall::Malloc) + rank_.host().duration_of(RuntimeCall::Free);
      wait("empty cache", segments * each);
    }
    wait(kCheckpoint, waits_.files);
    wait(kRecompile, waits_.recompile);
  }

  void wait(const char* name, Seconds duration) {
    if (duration > Seconds{0}) {
      rank_.wait_device();
      rank_.host_work(name, duration);
    }
  }

  const TransitionWork& work_;
  const TransitionWaits& waits_;
  ProgramBuilder rank_;
  StreamId stream_;
  std::size_t ranks_;
  bool has_replicas_;
  std::vector<std::vector<std::uint32_t>> kernels_, collectives_;
};

/// Makes the group known to the ranks, in the order of Program::groups.
void add_groups(Job& job, const std::string& name, const std::vector<std::vector<std::uint32_t>>& parts) {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const std::uint32_t rank : parts[part]) {
      job.ranks[rank].groups.push_back(static_cast<std::uint32_t>(job.groups.size()));
    }
    job.groups.push_back({fmt::format("{} {}", name, part), parts[part]});
  }
}

}  // namespace

Job transition_job(const TransitionWork& work, const TransitionWaits& waits, const Job& phase,
                   const HostOverheads& host, const std::vector<std::vector<std::uint32_t>>& replicas) {
  TransitionWriter writer{work, waits, host, phase.ranks.size(), !replicas.empty()};
  Program program = writer.write();
  Job job;
  job.programs = {std::make_shared<const Program>(std::move(program))};
  job.ranks.resize(phase.ranks.size());
  std::vector<std::vector<std::uint32_t>> world(1, std::vector<std::uint32_t>(phase.ranks.size()));
  std::iota(world.front().begin(), world.front().end(), 0U);
  for (const std::string& group : job.programs.front()->groups) {
    add_groups(job, group, group == kWorld ? world : replicas);
  }
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].gpu = phase.ranks[rank].gpu;
    for (const auto& slot : writer.kernel_slots()) {
      job.ranks[rank].kernel_slots.push_back(slot[rank]);
    }
    for (const auto& slot : writer.collective_slots()) {
      job.ranks[rank].collective_slots.push_back(slot[rank]);
    }
  }
  return job;
}

std::vector<std::vector<std::uint32_t>> replica_groups(const Job& phase) {
  for (const char* name : {"shard", "dp", "world"}) {
    std::set<std::vector<std::uint32_t>> groups;
    for (const RankAssignment& rank : phase.ranks) {
      const std::vector<std::string>& names = phase.programs[rank.program]->groups;
      const auto found = std::ranges::find(names, name);
      if (found != names.end()) {
        groups.insert(phase.groups[rank.groups[static_cast<std::size_t>(found - names.begin())]].ranks);
      }
    }
    if (!groups.empty()) {
      return {groups.begin(), groups.end()};
    }
  }
  return {};
}

}  // namespace lockstep
