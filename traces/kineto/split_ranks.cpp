#include "traces/kineto/split_ranks.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace lockstep::kineto {
namespace {

constexpr std::string_view kRank = "rank ";

std::optional<std::int64_t> rank_named(std::string_view process) {
  std::int64_t rank = 0;
  if (!process.starts_with(kRank)) {
    return std::nullopt;
  }
  process.remove_prefix(kRank.size());
  const auto [end, error] = std::from_chars(process.data(), process.data() + process.size(), rank);
  return error == std::errc{} && end != process.data() + process.size() && *end == ' ' ? std::optional{rank}
                                                                                       : std::nullopt;
}

class RankSplit {
 public:
  explicit RankSplit(RecordedTrace trace) : whole_{std::move(trace)} {
    for (const auto& [pid, name] : whole_.processes) {
      if (const auto rank = rank_named(name)) {
        rank_of_[pid] = *rank;
        ranks_.insert(*rank);
      }
    }
  }

  std::vector<RecordedTrace> run() {
    std::vector<RecordedTrace> parts;
    if (ranks_.size() < 2) {
      parts.push_back(std::move(whole_));
      return parts;
    }
    for (const std::int64_t rank : ranks_) {
      parts.push_back(part_of(rank));
    }
    return parts;
  }

 private:
  [[nodiscard]] bool belongs(std::int64_t pid, std::int64_t rank) const {
    const auto known = rank_of_.find(pid);
    return known != rank_of_.end() && known->second == rank;
  }

  RecordedTrace part_of(std::int64_t rank) {
    RecordedTrace part;
    part.file = whole_.file;
    part.rank = rank;
    part.world_size = whole_.world_size;
    part.backend = whole_.backend;
    part.gpu_names = whole_.gpu_names;
    part.multiprocessors = whole_.multiprocessors;
    part.gpu_memory = whole_.gpu_memory;
    part.compute_major = whole_.compute_major;
    part.observers = whole_.observers;
    part.is_simulated = whole_.is_simulated;
    part.groups = whole_.groups;
    std::map<std::uint32_t, std::uint32_t> threads;
    for (std::uint32_t i = 0; i < whole_.threads.size(); ++i) {
      if (belongs(whole_.threads[i].pid, rank)) {
        threads.emplace(i, static_cast<std::uint32_t>(part.threads.size()));
        part.threads.push_back(whole_.threads[i]);
      }
    }
    for (const Operator& op : whole_.operators) {
      if (const auto thread = threads.find(op.thread); thread != threads.end()) {
        Operator& own = part.operators.emplace_back(op);
        own.thread = thread->second;
        for (NameId* name : {&own.name, &own.input_dims, &own.input_types, &own.concrete_inputs}) {
          *name = part.names.number(whole_.names.text(*name));
        }
      }
    }
    for (const Call& call : whole_.calls) {
      if (const auto thread = threads.find(call.thread); thread != threads.end()) {
        Call& own = part.calls.emplace_back(call);
        own.thread = thread->second;
        own.name = part.names.number(whole_.names.text(call.name));
      }
    }
    take_work(rank, part);
    for (const LostEvent& lost : whole_.lost) {
      if (belongs(lost.pid, rank)) {
        part.lost.push_back(lost);
        part.lost.back().name = part.names.number(whole_.names.text(lost.name));
      }
    }
    part.events = part.operators.size() + part.calls.size() + part.work.size();
    return part;
  }

  void take_work(std::int64_t rank, RecordedTrace& part) const {
    for (const Work& work : whole_.work) {
      if (!belongs(work.pid, rank)) {
        continue;
      }
      Work& own = part.work.emplace_back(work);
      own.name = part.names.number(whole_.names.text(work.name));
      if (work.communication >= 0) {
        own.communication = static_cast<std::int32_t>(part.communications.size());
        part.communications.push_back(whole_.communications[static_cast<std::size_t>(work.communication)]);
      }
    }
  }

  RecordedTrace whole_;
  std::map<std::int64_t, std::int64_t> rank_of_;  // by pid
  std::set<std::int64_t> ranks_;
};

}  // namespace

std::vector<RecordedTrace> split_ranks(RecordedTrace trace) {
  return RankSplit{std::move(trace)}.run();
}

}  // namespace lockstep::kineto
