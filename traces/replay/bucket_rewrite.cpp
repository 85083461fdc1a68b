#include "traces/replay/bucket_rewrite.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::replay {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

float middle_of(std::vector<float> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

/// One series of one thread.
class SeriesRewrite {
 public:
  SeriesRewrite(Program& program, const BucketRewrite::Series& series, InstructionEdits& edits)
      : program_{program},
        code_{program.threads[series.recorded.front().thread].instructions},
        series_{series},
        edits_{edits},
        stays_(series.recorded.size(), kNowhere) {
    for (std::size_t bucket = 0; bucket < series.recorded.size(); ++bucket) {
      for (const RecordedGradient& gradient : series.recorded[bucket].gradients) {
        bucket_of_.push_back(bucket);
        after_.push_back(gradient.after);
      }
    }
  }

  void run() {
    find_places();
    for (std::size_t bucket = 0; bucket < stays_.size(); ++bucket) {
      if (stays_[bucket] == kNowhere) {
        remove(series_.recorded[bucket].instruction);
      }
    }
    for (std::size_t planned = 0; planned < places_.size(); ++planned) {
      send(planned);
      tell_waiting(planned);
    }
  }

 private:
  /// Finds where each planned bucket is sent; one that is sent where a recorded one was takes its place.
  void find_places() {
    std::size_t place = 0;
    for (std::size_t planned = 0; planned < series_.planned.size(); ++planned) {
      for (const std::size_t gradient : series_.planned[planned].gradients) {
        place = std::max(place, after_[gradient]);
      }
      places_.push_back(place);
      for (std::size_t bucket = 0; bucket < stays_.size(); ++bucket) {
        if (series_.recorded[bucket].instruction == place && stays_[bucket] == kNowhere) {
          stays_[bucket] = planned;
        }
      }
    }
  }

  [[nodiscard]] bool is_as_recorded(std::size_t planned, std::size_t bucket) const {
    std::vector<std::size_t> own;
    for (std::size_t gradient = 0; gradient < bucket_of_.size(); ++gradient) {
      if (bucket_of_[gradient] == bucket) {
        own.push_back(gradient);
      }
    }
    std::vector<std::size_t> wanted = series_.planned[planned].gradients;
    std::ranges::sort(wanted);
    return own == wanted;
  }

  void send(std::size_t planned) {
    const auto stays = std::ranges::find(stays_, planned);
    const auto bucket = static_cast<std::size_t>(stays - stays_.begin());
    if (stays != stays_.end() && is_as_recorded(planned, bucket)) {
      return;
    }
    const auto call = static_cast<std::uint32_t>(program_.collectives.size());
    program_.collectives.push_back(series_.calls[planned]);
    if (stays != stays_.end()) {
      code_[series_.recorded[bucket].instruction].operand = call;
    } else {
      insert(places_[planned], call);
    }
  }

  /// Inserts a bucket like the recorded ones: behind the gradients' launches, with the usual cost and lag.
  void insert(std::size_t place, std::uint32_t call) {
    std::vector<float> costs;
    std::vector<float> leads;
    std::vector<float> rests;
    for (const RecordedBucket& bucket : series_.recorded) {
      costs.push_back(code_[bucket.instruction].cost);
      if (has_lag(bucket.instruction)) {
        leads.push_back(code_[bucket.instruction - 1].lead);
        rests.push_back(code_[bucket.instruction - 1].cost);
      }
    }
    const std::uint8_t stream = code_[series_.recorded.front().instruction].stream;
    for (std::size_t before = place + 1; before-- > 0;) {
      if (code_[before].op == Opcode::Launch && code_[before].stream != stream) {
        const std::uint32_t event = program_.events++;
        edits_.insert_behind(place,
                             {.op = Opcode::RecordEvent, .stream = code_[before].stream, .operand = event});
        edits_.insert_behind(place, {.op = Opcode::StreamWait, .stream = stream, .operand = event});
        break;
      }
    }
    edits_.insert_behind(
        place,
        {.op = Opcode::StartLag, .stream = stream, .lead = middle_of(leads), .cost = middle_of(rests)});
    edits_.insert_behind(
        place, {.op = Opcode::Collective, .stream = stream, .operand = call, .cost = middle_of(costs)});
  }

  /// Events and flags of recorded buckets whose last gradients are in this one.
  void tell_waiting(std::size_t planned) {
    for (std::size_t bucket = 0; bucket < stays_.size(); ++bucket) {
      if (last_with(bucket) != planned || stays_[bucket] == planned) {
        continue;
      }
      const std::size_t sent = series_.recorded[bucket].instruction;
      for (std::size_t i = sent + 1; i < code_.size() && follows(code_[i], code_[sent].stream); ++i) {
        if (code_[i].op == Opcode::RecordEvent) {
          redirect_waits(code_[i].operand, i, places_[planned]);
        }
        edits_.remove(i);
        edits_.insert_behind(places_[planned], code_[i]);
      }
    }
  }

  /// Waits for a bucket before it is sent meant other communication: the latest of the
  /// stream, if any.
  void redirect_waits(std::uint32_t event, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const bool waits = code_[i].op == Opcode::StreamWait || code_[i].op == Opcode::WaitEvent;
      if (!waits || code_[i].operand != event) {
        continue;
      }
      const std::size_t other = communication_before(i);
      if (other == kNowhere) {
        edits_.remove(i);
      } else {
        code_[i].operand = code_[other + 1].operand;
      }
    }
  }

  /// The latest collective of the stream that is no bucket and whose end is recorded.
  [[nodiscard]] std::size_t communication_before(std::size_t place) const {
    const std::uint8_t stream = code_[series_.recorded.front().instruction].stream;
    for (std::size_t i = place; i-- > 0;) {
      const bool is_bucket =
          std::ranges::find(series_.recorded, i, &RecordedBucket::instruction) != series_.recorded.end();
      if (code_[i].op == Opcode::Collective && code_[i].stream == stream && !is_bucket &&
          code_[i + 1].op == Opcode::RecordEvent) {
        return i;
      }
    }
    return kNowhere;
  }

  static bool follows(const Instruction& instruction, std::uint8_t stream) {
    return instruction.op == Opcode::Post ||
           (instruction.op == Opcode::RecordEvent && instruction.stream == stream);
  }

  /// The last planned one with a gradient of a recorded bucket, or of those before it: who waits for a bucket
  /// waits for all that its stream sent before.
  [[nodiscard]] std::size_t last_with(std::size_t bucket) const {
    std::size_t last = 0;
    for (std::size_t planned = 0; planned < series_.planned.size(); ++planned) {
      const auto& gradients = series_.planned[planned].gradients;
      if (std::ranges::any_of(gradients, [&](std::size_t one) { return bucket_of_[one] <= bucket; })) {
        last = planned;
      }
    }
    return last;
  }

  [[nodiscard]] bool has_lag(std::size_t place) const {
    return place > 0 && code_[place - 1].op == Opcode::StartLag;
  }

  /// A collective with its lag, and what its stream was told to wait for.
  void remove(std::size_t place) {
    edits_.remove(place);
    if (has_lag(place)) {
      edits_.remove(place - 1);
    }
    const std::uint8_t stream = code_[place].stream;
    for (std::size_t i = place; i-- > 0;) {
      const bool is_work = code_[i].op == Opcode::Launch || code_[i].op == Opcode::Collective;
      if (is_work && code_[i].stream == stream) {
        return;
      }
      if (code_[i].op == Opcode::StreamWait && code_[i].stream == stream) {
        edits_.remove(i);
      }
    }
  }

  Program& program_;
  std::vector<Instruction>& code_;
  const BucketRewrite::Series& series_;
  InstructionEdits& edits_;
  std::vector<std::size_t> bucket_of_, after_;  // by gradient
  std::vector<std::size_t> stays_;              // by recorded bucket: the planned one in its place
  std::vector<std::size_t> places_;             // by planned bucket
};

}  // namespace

void BucketRewrite::replace(Program& program, const Series& series) {
  SeriesRewrite{program, series, edits_[series.recorded.front().thread]}.run();
}

void BucketRewrite::apply(Program& program, std::vector<std::vector<std::uint32_t>>& subjects) const {
  for (const auto& [thread, edits] : edits_) {
    edits.apply(program, thread, subjects[thread]);
  }
}

}  // namespace lockstep::replay
