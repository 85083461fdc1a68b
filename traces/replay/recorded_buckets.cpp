#include "traces/replay/recorded_buckets.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace lockstep::replay {
namespace {

constexpr std::string_view kGradient = "AccumulateGrad";
// Operators that scale and copy a gradient into its bucket, right behind it.
constexpr auto kCopies =
    std::to_array<std::string_view>({"reducer::", "aten::mul", "aten::div", "aten::copy_"});

/// Elements of the first tensor of `[[256, 13], []]`; 0: not said.
double elements_of_first(const std::string& input_dims) {
  const auto dims = nlohmann::json::parse(input_dims, nullptr, false);
  if (!dims.is_array() || dims.empty() || !dims.front().is_array() || dims.front().empty()) {
    return 0;
  }
  double product = 1;
  for (const nlohmann::json& size : dims.front()) {
    product *= size.is_number() ? size.get<double>() : 0;
  }
  return product;
}

/// Walks the instructions of one thread.
class BucketSearch {
 public:
  BucketSearch(const RankRecording& rank, const RankProgram& written, const Program& program,
               std::size_t thread)
      : rank_{rank}, subjects_{written.subjects[thread]}, program_{program}, thread_{thread} {}

  std::vector<RecordedBucket> run() && {
    const auto& code = program_.threads[thread_].instructions;
    for (std::size_t i = 0; i < code.size(); ++i) {
      switch (code[i].op) {
        case Opcode::RangeBegin:
          open(subjects_[i]);
          break;
        case Opcode::RangeEnd:
          close(i);
          break;
        case Opcode::Launch:
          launch(code[i]);
          break;
        case Opcode::Collective:
          communicate(code[i], i);
          break;
        default:
          break;
      }
    }
    return std::move(found_);
  }

 private:
  /// Launches within an operator belong to a gradient, or to the copy of the latest into its bucket.
  enum class Kind : std::uint8_t { Other, Gradient, Copy };

  [[nodiscard]] Kind kind_of(const std::string& name) const {
    if (name.find(kGradient) != std::string::npos) {
      return Kind::Gradient;
    }
    const bool is_copy = std::ranges::any_of(
        kCopies, [&](std::string_view copy) { return name.find(copy) != std::string::npos; });
    const bool is_next = is_fresh_ && !is_copied_ && open_.size() == depth_;
    return is_copy && in_gradient_ == 0 && is_next ? Kind::Copy : Kind::Other;
  }

  void open(std::uint32_t op) {
    const kineto::Operator& recorded = rank_.trace.operators[op];
    const Kind kind = kind_of(rank_.trace.names.text(recorded.name));
    open_.push_back(kind);
    if (kind == Kind::Gradient) {
      if (in_gradient_++ == 0) {
        gradient_ = {0, recorded.end, 0};
        seconds_ = 0;
        is_sent_ = false;
        depth_ = open_.size() - 1;
      }
      if (recorded.input_dims != 0) {
        const double elements = elements_of_first(rank_.trace.names.text(recorded.input_dims));
        gradient_.weight = std::max(gradient_.weight, elements);
      }
    } else if (kind == Kind::Copy) {
      in_copy_ = is_copied_ = true;
    }
  }

  void close(std::size_t at) {
    if (open_.empty()) {
      return;
    }
    const Kind kind = open_.back();
    open_.pop_back();
    if (kind == Kind::Copy) {
      in_copy_ = false;
      if (!waiting_.empty()) {
        waiting_.back().after = at;
        waiting_seconds_.back() = seconds_;
      }
    } else if (kind == Kind::Gradient && --in_gradient_ == 0 && !is_sent_) {
      gradient_.after = at;
      wait_for_bucket();
      is_fresh_ = true;
      is_copied_ = false;
    }
  }

  void wait_for_bucket() {
    waiting_.push_back(gradient_);
    waiting_seconds_.push_back(seconds_);
  }

  void launch(const Instruction& instruction) {
    if (in_gradient_ == 0 && !in_copy_) {
      is_fresh_ = false;
      return;
    }
    if (const auto* timed = std::get_if<Timed>(&program_.kernels[instruction.operand].work)) {
      seconds_ += timed->duration.in_base_units();
    }
  }

  void communicate(const Instruction& instruction, std::size_t at) {
    const bool is_reduced = program_.collectives[instruction.operand].kind == CollectiveKind::AllReduce;
    if (!is_reduced || (in_gradient_ == 0 && !is_fresh_)) {
      return;
    }
    if (in_gradient_ > 0 && !is_sent_) {
      wait_for_bucket();
      is_sent_ = true;
    }
    if (waiting_.empty()) {  // one that had to wait for the one before: its gradients went with that
      waiting_.push_back({at, rank_.links.issued[subjects_[at]], 1});
      waiting_seconds_.push_back(0);
    }
    weigh();
    waiting_.back().after = at;
    found_.push_back(
        {thread_, at, instruction.operand, rank_.links.issued[subjects_[at]], std::move(waiting_), false});
    waiting_.clear();
    waiting_seconds_.clear();
  }

  /// Sizes, else times, else nothing: of all gradients of a bucket in the same unit.
  void weigh() {
    const bool has_sizes =
        std::ranges::all_of(waiting_, [](const RecordedGradient& gradient) { return gradient.weight > 0; });
    const bool has_times = std::ranges::all_of(waiting_seconds_, [](double time) { return time > 0; });
    for (std::size_t i = 0; i < waiting_.size() && !has_sizes; ++i) {
      waiting_[i].weight = has_times ? waiting_seconds_[i] : 1;
    }
  }

  const RankRecording& rank_;
  const std::vector<std::uint32_t>& subjects_;
  const Program& program_;
  std::size_t thread_;
  std::vector<Kind> open_;  // ranges
  std::size_t depth_ = 0;   // of the latest gradient
  int in_gradient_ = 0;
  bool in_copy_ = false, is_copied_ = false;
  bool is_sent_ = false;   // the open gradient: with a bucket that it completed
  bool is_fresh_ = false;  // nothing was launched since the last gradient
  RecordedGradient gradient_;
  double seconds_ = 0;                     // of kernels that handle it
  std::vector<RecordedGradient> waiting_;  // for their bucket
  std::vector<double> waiting_seconds_;
  std::vector<RecordedBucket> found_;
};

/// When a series ends at the latest: nobody waits for a bucket before the end of backward, and somebody does
/// before the parameters are used.
std::vector<Nanoseconds> ends_of_backward(const RankRecording& rank) {
  constexpr auto kBegins = std::to_array<std::string_view>(
      {"ProfilerStep#", "Optimizer.step#", "DistributedDataParallel.forward"});
  std::vector<Nanoseconds> ends;
  for (const kineto::Operator& op : rank.trace.operators) {
    const std::string& name = rank.trace.names.text(op.name);
    if (std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); })) {
      ends.push_back(op.start);
    }
  }
  return ends;
}

/// Moments when somebody waited for communication, or for the whole device, for a trace without such ranges.
std::vector<Nanoseconds> waits_of(const RankRecording& rank) {
  std::vector<Nanoseconds> waits;
  const auto communicates = [&](std::uint32_t work) {
    return std::ranges::binary_search(rank.communication, work);
  };
  for (const StreamWait& wait : rank.stream_waits) {
    if (communicates(wait.work)) {
      waits.push_back(rank.trace.calls[wait.call].start);
    }
  }
  for (const HostWait& wait : rank.host_waits) {
    if (wait.on_device || communicates(wait.work)) {
      waits.push_back(wait.begin);
    }
  }
  return waits;
}

/// The latest of @p moments between two of them; before all times: none.
Nanoseconds latest_between(const std::vector<Nanoseconds>& moments, Nanoseconds from, Nanoseconds to) {
  Nanoseconds latest = std::numeric_limits<Nanoseconds>::min();
  for (const Nanoseconds moment : moments) {
    if (moment >= from && moment <= to) {
      latest = std::max(latest, moment);
    }
  }
  return latest;
}

/// Drops gradients that became ready before the series: nobody reduces them in its buckets.
void leave_out_earlier(RecordedBucket& bucket, Nanoseconds begin) {
  auto& gradients = bucket.gradients;
  const auto first = std::find_if(gradients.begin(), gradients.end() - 1,
                                  [&](const RecordedGradient& one) { return one.ready >= begin; });
  gradients.erase(gradients.begin(), first);
}

void find_series(const RankRecording& rank, std::vector<RecordedBucket>& buckets) {
  constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::min();
  std::vector<Nanoseconds> ends = ends_of_backward(rank);
  ends = ends.empty() ? waits_of(rank) : ends;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const bool is_next = i > 0 && buckets[i - 1].thread == buckets[i].thread;
    const Nanoseconds end = is_next ? latest_between(ends, buckets[i - 1].issued, buckets[i].issued) : kNever;
    buckets[i].begins_series = !is_next || end != kNever;
    if (buckets[i].begins_series) {
      leave_out_earlier(buckets[i], end);
    }
  }
}

}  // namespace

std::vector<RecordedBucket> find_buckets(const RankRecording& rank, const RankProgram& written,
                                         const Program& program) {
  std::vector<RecordedBucket> found;
  for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
    auto more = BucketSearch{rank, written, program, thread}.run();
    std::ranges::move(more, std::back_inserter(found));
  }
  find_series(rank, found);
  return found;
}

}  // namespace lockstep::replay
