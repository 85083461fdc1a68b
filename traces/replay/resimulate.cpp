#include "traces/replay/resimulate.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace lockstep::replay {
namespace {

constexpr double kLargest = 64.0 * 1024 * 1024 * 1024;
constexpr int kHalvings = 50;

/// The k-th call of every member of a group is the same collective.
class Resimulation {
 public:
  Resimulation(Job& job, const std::vector<RankRecording>& ranks, const CollectivePlanner& planner,
               const Fabric& fabric)
      : job_{job}, ranks_{ranks}, planner_{planner}, fabric_{fabric} {
    for (const auto& program : job.programs) {
      programs_.push_back(*program);
    }
  }

  std::vector<TransferComparison> run() {
    std::vector<TransferComparison> compared;
    const std::size_t traces = programs_.size();
    for (std::uint32_t group = 0; group < job_.groups.size(); ++group) {
      const ProcessGroup& members = job_.groups[group];
      if (members.ranks.front() >= traces) {
        continue;  // a copy of one before
      }
      gpus_.clear();
      for (const std::uint32_t rank : members.ranks) {
        gpus_.push_back(job_.ranks[rank].gpu);
      }
      compare_group(group, members, compared);
    }
    for (std::size_t i = 0; i < traces; ++i) {
      job_.programs[i] = std::make_shared<const Program>(std::move(programs_[i]));
    }
    return compared;
  }

 private:
  void compare_group(std::uint32_t group, const ProcessGroup& members,
                     std::vector<TransferComparison>& compared) {
    const auto traces = static_cast<std::uint32_t>(programs_.size());
    std::vector<std::vector<std::uint32_t>> calls;  // by member with a trace: its calls, in order
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t rank : members.ranks) {
      if (rank < traces) {
        ranks.push_back(rank);
        calls.push_back(calls_of(rank, group));
      }
    }
    for (std::size_t k = 0; k < calls.front().size(); ++k) {
      std::vector<std::uint32_t> at;
      for (const auto& of_member : calls) {
        at.push_back(of_member[k]);
      }
      compared.push_back(resimulate(ranks, at));
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> calls_of(std::uint32_t rank, std::uint32_t group) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < programs_[rank].collectives.size(); ++i) {
      if (job_.ranks[rank].groups[programs_[rank].collectives[i].group] == group) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// @param at the call of each of @p ranks
  TransferComparison resimulate(const std::vector<std::uint32_t>& ranks,
                                const std::vector<std::uint32_t>& at) {
    std::vector<CollectiveCall*> calls;
    std::vector<const RecordedCollective*> said;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const RankRecording& rank = ranks_[ranks[i]];
      calls.push_back(&programs_[ranks[i]].collectives[at[i]]);
      said.push_back(&rank.collectives[rank.recorded_calls[at[i]]]);
    }
    const CollectiveCall& first = *calls.front();
    TransferComparison made{first.kind, first.size, gpus_.size(), first.recorded->in_base_units(), 0, false};
    const bool sends_back = first.kind == CollectiveKind::Receive;  // planned from position 0 to position 1
    if (sends_back) {
      made.kind = CollectiveKind::Send;
      std::ranges::reverse(gpus_);
    }
    made.is_inferred = first.kind != CollectiveKind::Barrier &&
                       std::ranges::any_of(said, [](const RecordedCollective* s) { return s->size < 0; });
    made.size = made.is_inferred ? size_that_takes(first, made.recorded) : made.size;
    const bool uneven = first.kind == CollectiveKind::AllToAll && !made.is_inferred && is_uneven(said);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls[i]->recorded.reset();
      calls[i]->size = made.size;
      if (uneven) {
        calls[i]->send_bytes = parts_of(*said[i]);
        calls[i]->size = Bytes{said[i]->size};
      }
    }
    made.predicted =
        time_alone(planner_.plan(request_of(calls, made.size, uneven), gpus_), fabric_).in_base_units();
    if (sends_back) {
      std::ranges::reverse(gpus_);
    }
    return made;
  }

  static bool is_uneven(const std::vector<const RecordedCollective*>& said) {
    return std::ranges::any_of(said, [&](const RecordedCollective* one) {
      return one->size != said.front()->size || !one->send_bytes.empty();
    });
  }

  /// Splits that the trace does not say, or that are those of fewer ranks, are taken as even.
  [[nodiscard]] std::vector<double> parts_of(const RecordedCollective& said) const {
    if (said.send_bytes.size() == gpus_.size()) {
      return said.send_bytes;
    }
    return std::vector<double>(gpus_.size(), said.size / static_cast<double>(gpus_.size()));
  }

  [[nodiscard]] CollectiveRequest request_of(const std::vector<CollectiveCall*>& calls, Bytes size,
                                             bool uneven) const {
    CollectiveRequest request = plain_request(*calls.front());
    request.size = size;
    for (std::size_t member = 0; uneven && member < gpus_.size(); ++member) {
      const auto& parts = calls[member % calls.size()]->send_bytes;
      request.bytes.insert(request.bytes.end(), parts.begin(), parts.end());
    }
    return request;
  }

  /// A request without a size.
  static CollectiveRequest plain_request(const CollectiveCall& call) {
    const bool is_pair = call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
    CollectiveRequest request;
    request.kind = is_pair ? CollectiveKind::Send : call.kind;
    request.type = call.type;
    request.root = is_pair ? 1 : 0;
    return request;
  }

  [[nodiscard]] Bytes size_that_takes(const CollectiveCall& call, double seconds) const {
    double low = 0;
    double high = kLargest;
    for (int i = 0; i < kHalvings; ++i) {
      CollectiveRequest request = plain_request(call);
      request.size = Bytes{(low + high) / 2};
      const double time = time_alone(planner_.plan(request, gpus_), fabric_).in_base_units();
      (time > seconds ? high : low) = (low + high) / 2;
    }
    return Bytes{std::floor(low)};
  }

  Job& job_;
  const std::vector<RankRecording>& ranks_;
  const CollectivePlanner& planner_;
  const Fabric& fabric_;
  std::vector<Program> programs_;
  std::vector<VertexId> gpus_;
};

}  // namespace

std::vector<TransferComparison> resimulate_collectives(Job& job, const std::vector<RankRecording>& ranks,
                                                       const CollectivePlanner& planner,
                                                       const Fabric& fabric) {
  return Resimulation{job, ranks, planner, fabric}.run();
}

}  // namespace lockstep::replay
