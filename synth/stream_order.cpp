#include "synth/stream_order.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "ops/thread_walk.hpp"

namespace lockstep::synth {
namespace {

using Clock = std::vector<std::uint32_t>;  // pieces of work by stream

struct Spot {
  std::size_t thread = 0, instruction = 0;
};

void join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

bool is_covered(const Clock& by, const Clock& clock) {
  return std::ranges::equal(clock, by, std::ranges::less_equal{});
}

/// A record, with the waits of its stream that no work stands behind.
struct Record;
struct Wait {
  Spot at;
  std::shared_ptr<Record> record;  // null: of the step before
};
struct Record {
  Spot at;
  Clock clock;
  std::vector<Wait> waits;
};

class OrderWalk {
 public:
  OrderWalk(const Program& program, KeptInstructions& kept)
      : program_{program},
        kept_{kept},
        clocks_(program.streams.size(), Clock(program.streams.size(), 0)),
        pending_(program.streams.size()),
        walk_{program} {}

  void run() {
    walk_.run([this](std::size_t thread, std::size_t at, const Instruction& i) { visit({thread, at}, i); });
  }

 private:
  void visit(Spot at, const Instruction& i) {
    switch (i.op) {
      case Opcode::Launch:
      case Opcode::Collective:
        if (kept_[at.thread][at.instruction]) work(i.stream);
        break;
      case Opcode::RecordEvent:
        record(at, i);
        break;
      case Opcode::StreamWait:
        stream_wait(at, i);
        break;
      case Opcode::WaitEvent:
        if (const auto known = records_.find(i.operand); known != records_.end()) need(*known->second);
        break;
      case Opcode::Post:
        walk_.post(i.operand, 0);
        break;
      case Opcode::Await:
        static_cast<void>(walk_.await(at.thread, i.operand));
        break;
      default:
        break;
    }
  }

  [[nodiscard]] bool is_carried(std::uint32_t event) const {
    return std::ranges::binary_search(program_.carried_events, event);
  }

  void record(Spot at, const Instruction& i) {
    auto made = std::make_shared<Record>(Record{at, clocks_[i.stream], pending_[i.stream]});
    for (const Wait& wait : made->waits) {
      if (wait.record) join(made->clock, wait.record->clock);
    }
    if (is_carried(i.operand)) need(*made);
    records_[i.operand] = std::move(made);
  }

  void stream_wait(Spot at, const Instruction& i) {
    const auto known = records_.find(i.operand);
    if (known != records_.end()) {
      pending_[i.stream].push_back({at, known->second});
    } else if (is_carried(i.operand)) {
      pending_[i.stream].push_back({at, nullptr});
    }
  }

  /// The latest waits first: they may cover those before them.
  void work(std::uint8_t stream) {
    Clock& clock = clocks_[stream];
    for (auto wait = pending_[stream].rbegin(); wait != pending_[stream].rend(); ++wait) {
      if (wait->record && is_covered(clock, wait->record->clock)) continue;
      keep(*wait);
      if (wait->record) join(clock, wait->record->clock);
    }
    pending_[stream].clear();
    ++clock[stream];
  }

  void keep(const Wait& wait) {
    kept_[wait.at.thread][wait.at.instruction] = true;
    if (wait.record) need(*wait.record);
  }

  void need(const Record& record) {
    if (kept_[record.at.thread][record.at.instruction]) return;
    kept_[record.at.thread][record.at.instruction] = true;
    for (const Wait& wait : record.waits) keep(wait);
  }

  const Program& program_;
  KeptInstructions& kept_;
  std::vector<Clock> clocks_;
  std::vector<std::vector<Wait>> pending_;  // by stream
  std::map<std::uint32_t, std::shared_ptr<Record>> records_;
  ThreadWalk<char> walk_;
};

}  // namespace

void keep_needed_order(const Program& program, KeptInstructions& kept) {
  OrderWalk{program, kept}.run();
}

}  // namespace lockstep::synth
