#include "traces/replay/recorded_buckets.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace lockstep::replay {
namespace {

constexpr std::string_view kGradient = "AccumulateGrad";
constexpr std::string_view kReducer = "reducer::";  // copies gradients into buckets

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
  /// What is launched within belongs to a gradient, or to the copy of one into its bucket.
  enum class Kind : std::uint8_t { Other, Gradient, Copy };

  [[nodiscard]] Kind kind_of(const std::string& name) const {
    if (name.find(kGradient) != std::string::npos) {
      return Kind::Gradient;
    }
    return name.find(kReducer) != std::string::npos && (in_gradient_ > 0 || is_fresh_) ? Kind::Copy
                                                                                       : Kind::Other;
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
      }
      if (recorded.input_dims != 0) {
        const double elements = elements_of_first(rank_.trace.names.text(recorded.input_dims));
        gradient_.weight = std::max(gradient_.weight, elements);
      }
    } else if (kind == Kind::Copy && in_gradient_ == 0) {
      ++in_copy_;
    }
  }

  void close(std::size_t at) {
    if (open_.empty()) {
      return;
    }
    const Kind kind = open_.back();
    open_.pop_back();
    if (kind == Kind::Copy && in_copy_ > 0) {
      --in_copy_;
      if (!waiting_.empty()) {
        waiting_.back().after = at;
        waiting_seconds_.back() = seconds_;
      }
    } else if (kind == Kind::Gradient && --in_gradient_ == 0 && !is_sent_) {
      gradient_.after = at;
      wait_for_bucket();
      is_fresh_ = true;
    }
  }

  void wait_for_bucket() {
    waiting_.push_back(gradient_);
    waiting_seconds_.push_back(seconds_);
  }

  void launch(const Instruction& instruction) {
    if (in_gradient_ == 0 && in_copy_ == 0) {
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
  int in_gradient_ = 0, in_copy_ = 0;
  bool is_sent_ = false;   // the open gradient: with a bucket that it completed
  bool is_fresh_ = false;  // nothing was launched since the last gradient
  RecordedGradient gradient_;
  double seconds_ = 0;                     // of kernels that handle it
  std::vector<RecordedGradient> waiting_;  // for their bucket
  std::vector<double> waiting_seconds_;
  std::vector<RecordedBucket> found_;
};

/// When somebody waited for work, or for the whole device.
struct Awaited {
  Nanoseconds at = 0;
  std::uint32_t work = kNone;  ///< kNone: the device
};

std::vector<Awaited> waits_of(const RankRecording& rank) {
  std::vector<Awaited> waits;
  for (const StreamWait& wait : rank.stream_waits) {
    waits.push_back({rank.trace.calls[wait.call].start, wait.work});
  }
  for (const HostWait& wait : rank.host_waits) {
    waits.push_back({wait.begin, wait.on_device ? kNone : wait.work});
  }
  for (const HostWait& wait : rank.silent.waits) {
    waits.push_back({wait.begin, wait.work});
  }
  return waits;
}

/// The latest wait between two moments for one of @p works, or the device; before all times: none.
Nanoseconds latest_wait(const std::vector<Awaited>& waits, const std::vector<std::uint32_t>& works,
                        std::pair<Nanoseconds, Nanoseconds> between) {
  Nanoseconds latest = std::numeric_limits<Nanoseconds>::min();
  for (const Awaited& wait : waits) {
    const bool is_for_them = wait.work == kNone || std::ranges::find(works, wait.work) != works.end();
    if (is_for_them && wait.at >= between.first && wait.at <= between.second) {
      latest = std::max(latest, wait.at);
    }
  }
  return latest;
}

/// What became ready before the series is of none of its buckets: gradients that nobody reduces.
void leave_out_earlier(RecordedBucket& bucket, Nanoseconds begin) {
  auto& gradients = bucket.gradients;
  const auto first = std::find_if(gradients.begin(), gradients.end() - 1,
                                  [&](const RecordedGradient& one) { return one.ready >= begin; });
  gradients.erase(gradients.begin(), first);
}

void find_series(const RankRecording& rank, const RankProgram& written,
                 std::vector<RecordedBucket>& buckets) {
  const std::vector<Awaited> waits = waits_of(rank);
  std::vector<std::uint32_t> series;  // work of those before
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    RecordedBucket& bucket = buckets[i];
    const bool is_next = i > 0 && buckets[i - 1].thread == bucket.thread;
    constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::min();
    const Nanoseconds awaited =
        is_next ? latest_wait(waits, series, {buckets[i - 1].issued, bucket.issued}) : kNever;
    bucket.begins_series = !is_next || awaited != kNever;
    if (bucket.begins_series) {
      leave_out_earlier(bucket, awaited);
      series.clear();
    }
    series.push_back(written.subjects[bucket.thread][bucket.instruction]);
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
  find_series(rank, written, found);
  return found;
}

}  // namespace lockstep::replay
