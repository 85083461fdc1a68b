#include "sim/folding/fold.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "sim/folding/digest.hpp"
#include "sim/log.hpp"

namespace lockstep {
namespace {

struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return digest.hash(); }
};

/// The peers of sends and receives tell nothing: equitable_partition() looks at who they are.
void append(Digest& digest, const CollectiveCall& call) {
  digest.append(static_cast<std::uint64_t>(call.kind))
      .append(static_cast<std::uint64_t>(call.type))
      .append(std::uint64_t{call.group})
      .append(call.size.in_base_units())
      .append(static_cast<std::uint64_t>(call.sm_limit))
      .append(std::uint64_t{call.batched})
      .append(call.recorded.value_or(Seconds{-1}).in_base_units())
      .append(is_pair(call.kind) ? std::uint64_t{0} : static_cast<std::uint64_t>(call.peer));
}

struct RankKinds {
  std::vector<std::uint32_t> of_rank;
  std::size_t count = 0;
};

/// Kinds of ranks by themselves: program, GPU, timing and what fills the program's slots.
RankKinds rank_kinds(const Job& job, const ExecutorSpec& spec) {
  RankKinds kinds;
  std::unordered_map<Digest, std::uint32_t, DigestHash> known;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    Digest digest;
    digest.append(std::uint64_t{spec.compiled_of_rank[rank]})
        .append(std::uint64_t{spec.timing_of_rank[rank]});
    for (const std::uint32_t kernel : job.ranks[rank].kernel_slots) {
      digest.append(std::uint64_t{kernel});
    }
    for (const std::uint32_t call : job.ranks[rank].collective_slots) {
      append(digest, job.programs[job.ranks[rank].program]->collectives[call]);
    }
    kinds.of_rank.push_back(
        known.try_emplace(digest, static_cast<std::uint32_t>(known.size())).first->second);
  }
  kinds.count = known.size();
  return kinds;
}

bool shares_gpus(const Job& job) {
  std::set<VertexId> gpus;
  return std::ranges::any_of(job.ranks,
                             [&](const RankAssignment& rank) { return !gpus.insert(rank.gpu).second; });
}

/// Empty: nothing.
std::string_view objection(const Job& job, const ExecutorSpec& spec, const SimulationOptions& options) {
  if (!options.fold) {
    return "not asked for";
  }
  if (job.ranks.size() < 2) {
    return "a single rank";
  }
  if (spec.variation.varies()) {
    return "jitter makes every rank another";
  }
  if (!spec.noise.sources().empty()) {
    return "noise interrupts every rank at its own times";
  }
  if (options.engine == EngineMode::S4u || options.network == NetworkMode::Flows) {
    return "SimGrid's actors and flows are there for every rank";
  }
  if (has_uneven_calls(job)) {
    return "the bytes of uneven all-to-alls are known only when they meet";
  }
  if (shares_gpus(job)) {
    return "ranks share a GPU";
  }
  return {};
}

}  // namespace

bool has_uneven_calls(const Job& job) {
  return std::ranges::any_of(job.programs, [](const auto& program) {
    return std::ranges::any_of(program->collectives,
                               [](const CollectiveCall& call) { return !call.send_bytes.empty(); });
  });
}

std::unique_ptr<const Folding> fold(const Job& job, const ExecutorSpec& spec,
                                    const SimulationOptions& options) {
  if (const std::string_view why_not = objection(job, spec, options); !why_not.empty()) {
    log_of(LogComponent::Sim).debug("not folded: {}", why_not);
    return nullptr;
  }
  const RankKinds kinds = rank_kinds(job, spec);
  if (kinds.count == job.ranks.size()) {
    log_of(LogComponent::Sim).debug("not folded: every rank is another");
    return nullptr;
  }
  std::vector<const CompiledProgram*> compiled;
  for (const std::uint32_t index : spec.compiled_of_rank) {
    compiled.push_back(&spec.compiled[index]);
  }
  auto folding = std::make_unique<const Folding>(
      job, *spec.fabric, traffic_of(job, *spec.fabric, compiled, spec.plan_collective), kinds.of_rank,
      options.network != NetworkMode::Alone);
  const std::size_t classes = folding->representatives().size();
  log_of(LogComponent::Sim)
      .debug("folded: {} ranks are of {} classes, {} groups of {}", job.ranks.size(), classes,
             folding->traffic().groups.size(), folding->groups().size());
  return classes == job.ranks.size() ? nullptr : std::move(folding);
}

UnfoldedTimeline::UnfoldedTimeline(TimelineSink& sink, const Folding& folding,
                                   std::span<const std::uint32_t> wanted)
    : sink_{sink}, folding_{folding}, wanted_(folding.representatives().size()) {
  for (const std::uint32_t rank : wanted.empty() ? folding.representatives() : wanted) {
    wanted_[folding.class_of(rank)].push_back(rank);
  }
}

void UnfoldedTimeline::write(std::span<const TimelineSpan> spans) {
  spans_.clear();
  for (const TimelineSpan& span : spans) {
    for (const std::uint32_t rank : wanted_[folding_.class_of(span.rank)]) {
      spans_.emplace_back(span).rank = rank;
    }
  }
  sink_.write(spans_);
}

}  // namespace lockstep
