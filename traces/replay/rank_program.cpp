#include "traces/replay/rank_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "traces/replay/dependencies.hpp"
#include "traces/replay/start_lags.hpp"

namespace lockstep::replay {
namespace {

constexpr std::size_t kMostActors = 64;  // Rank::kMostActors

/// Something that happens on a host thread, to be written in order of time.
struct Mark {
  enum class Kind : std::uint8_t { Close, Open, Post, Call, Wait, Await };
  Nanoseconds at = 0;
  Kind kind = Kind::Call;
  std::uint32_t subject = 0;  // operator, handoff, silent wait or call
};

float seconds(Nanoseconds span) {
  return static_cast<float>(1e-9 * static_cast<double>(span));
}

class ProgramWriter {
 public:
  explicit ProgramWriter(const RankRecording& rank)
      : rank_{rank}, needs_{find_dependencies(rank)}, starts_{find_starts(rank, needs_.anchors)} {}

  RankProgram write() {
    made_.program.flags = needs_.flags;
    made_.program.events = needs_.events;
    made_.program.collectives = rank_.calls;
    made_.program.groups = rank_.groups;
    for (const Lane& lane : rank_.links.lanes) {
      made_.program.streams.push_back(fmt::format("stream {}", lane.stream));
    }
    if (needs_.threads.empty()) {  // a trace of the GPU alone
      open_thread("main");
      launch_orphans();
    }
    for (const std::uint32_t thread : needs_.threads) {
      thread_ = thread;
      open_thread(name_of(thread));
      write_thread();
    }
    finish();
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool is_main() const { return made_.program.threads.size() == 1; }
  [[nodiscard]] std::string name_of(std::uint32_t thread) const {
    return made_.program.threads.empty() ? "main" : "thread " + rank_.trace.threads[thread].tid;
  }

  [[nodiscard]] std::vector<Mark> marks() const {
    std::vector<Mark> marks;
    add_operators(marks);
    for (std::uint32_t i = 0; i < rank_.trace.calls.size(); ++i) {
      if (rank_.trace.calls[i].thread == thread_ && is_written(i)) {
        marks.push_back({rank_.trace.calls[i].start, Mark::Kind::Call, i});
      }
    }
    for (std::uint32_t i = 0; i < rank_.silent.handoffs.size(); ++i) {
      const Handoff& handoff = rank_.silent.handoffs[i];
      if (handoff.from == thread_) {
        marks.push_back({handoff.at, Mark::Kind::Post, i});
      }
      if (handoff.to == thread_) {
        marks.push_back({handoff.begin, Mark::Kind::Await, i});
      }
    }
    for (std::uint32_t i = 0; i < rank_.silent.waits.size(); ++i) {
      if (rank_.silent.waits[i].thread == thread_) {
        marks.push_back({rank_.silent.waits[i].begin, Mark::Kind::Wait, i});
      }
    }
    // At equal times operators as they nest, and silences after everything that is over.
    std::ranges::stable_sort(marks, {}, [](const Mark& mark) {
      return std::pair{mark.at, std::max(mark.kind, Mark::Kind::Open)};
    });
    return marks;
  }

  /// Tells whether the call is written; one that only takes host time counts to the next call.
  [[nodiscard]] bool is_written(std::uint32_t call) const {
    const auto wait = std::ranges::lower_bound(rank_.host_waits, call, {}, &HostWait::call);
    const bool waits = wait != rank_.host_waits.end() && wait->call == call;
    const auto order = std::ranges::lower_bound(rank_.stream_waits, call, {}, &StreamWait::call);
    const bool orders = order != rank_.stream_waits.end() && order->call == call;
    return waits || orders || !rank_.links.works[call].empty();
  }

  /// Opened and closed in the order of a stack: one that outlasts the operator around it is cut.
  void add_operators(std::vector<Mark>& marks) const {
    std::vector<std::pair<std::uint32_t, Nanoseconds>> open;
    const auto close_until = [&](Nanoseconds now) {
      while (!open.empty() && open.back().second <= now) {
        marks.push_back({open.back().second, Mark::Kind::Close, open.back().first});
        open.pop_back();
      }
    };
    for (std::uint32_t i = 0; i < rank_.trace.operators.size(); ++i) {
      const kineto::Operator& op = rank_.trace.operators[i];
      if (op.thread != thread_) {
        continue;
      }
      close_until(op.start);
      marks.push_back({op.start, Mark::Kind::Open, i});
      open.emplace_back(i, open.empty() ? op.end : std::min(op.end, open.back().second));
    }
    close_until(std::numeric_limits<Nanoseconds>::max());
  }

  void open_thread(const std::string& name) {
    made_.program.threads.push_back({name, {}});
    made_.subjects.emplace_back();
    now_ = rank_.begin;
  }

  void launch_orphans() {
    for (const std::uint32_t work : needs_.at_begin) {
      launch(work, 0, 0);
    }
  }

  void write_thread() {
    if (is_main()) {
      launch_orphans();
    }
    for (const Mark& mark : marks()) {
      switch (mark.kind) {
        case Mark::Kind::Open:
          open(mark);
          break;
        case Mark::Kind::Close:
          append({.op = Opcode::RangeEnd, .lead = until(mark.at)});
          break;
        case Mark::Kind::Post:
          append({.op = Opcode::Post, .operand = mark.subject, .lead = until(mark.at)});
          break;
        case Mark::Kind::Await:
          await_handoff(rank_.silent.handoffs[mark.subject], mark.subject);
          break;
        case Mark::Kind::Wait:
          wait_silently(mark.subject);
          break;
        case Mark::Kind::Call:
          call(mark.subject);
          break;
      }
    }
  }

  /// Host time from where the thread is to @p moment; it is there then.
  float until(Nanoseconds moment) {
    const Nanoseconds lead = std::max<Nanoseconds>(moment - now_, 0);
    now_ = std::max(now_, moment);
    return seconds(lead);
  }

  void append(const Instruction& instruction, std::uint32_t subject = kNone) {
    made_.program.threads.back().instructions.push_back(instruction);
    made_.subjects.back().push_back(subject);
  }

  void open(const Mark& mark) {
    const std::uint32_t name = name_number(rank_.trace.operators[mark.subject].name);
    append({.op = Opcode::RangeBegin, .operand = name, .lead = until(mark.at)}, mark.subject);
  }

  void await_handoff(const Handoff& handoff, std::uint32_t flag) {
    append({.op = Opcode::Await,
            .operand = flag,
            .lead = until(handoff.begin),
            .cost = seconds(handoff.end - std::max(handoff.at, now_))});
    now_ = handoff.end;
  }

  void wait_silently(std::uint32_t number) {
    const HostWait& wait = rank_.silent.waits[number];
    if (needs_.silent_awaits[number] != kNone) {
      append({.op = Opcode::Await, .operand = needs_.silent_awaits[number], .lead = until(wait.begin)});
    }
    block({.op = Opcode::WaitEvent, .operand = needs_.event[wait.work], .lead = until(wait.begin)}, wait);
  }

  void call(std::uint32_t index) {
    const kineto::Call& made = rank_.trace.calls[index];
    for (const std::uint32_t flag : needs_.awaits[index]) {
      append({.op = Opcode::Await, .operand = flag, .lead = until(made.start)});
    }
    float lead = until(made.start);
    for (const std::uint32_t work : rank_.links.works[index]) {
      launch(work, lead, until(starts_[work].issue));
      lead = 0;
    }
    wait_on_streams(index, lead);
    const auto wait = std::ranges::lower_bound(rank_.host_waits, index, {}, &HostWait::call);
    if (wait != rank_.host_waits.end() && wait->call == index) {
      block({.op = wait->on_device ? Opcode::WaitDevice : Opcode::WaitEvent,
             .operand = wait->on_device ? 0 : needs_.event[wait->work],
             .lead = lead},
            *wait);
    }
  }

  void wait_on_streams(std::uint32_t index, float& lead) {
    auto wait = std::ranges::lower_bound(rank_.stream_waits, index, {}, &StreamWait::call);
    for (; wait != rank_.stream_waits.end() && wait->call == index; ++wait) {
      append({.op = Opcode::StreamWait,
              .stream = static_cast<std::uint8_t>(wait->lane),
              .operand = needs_.event[wait->work],
              .lead = std::exchange(lead, 0.0F)});
    }
  }

  /// The thread goes on so much after what it waits for as it did in the trace.
  void block(Instruction instruction, const HostWait& wait) {
    const Nanoseconds over = wait.on_device ? device_idle(wait) : rank_.ends[wait.work];
    instruction.cost = seconds(std::max<Nanoseconds>(wait.end - std::max(over, now_), 0));
    append(instruction);
    now_ = std::max(now_, wait.end);
  }

  [[nodiscard]] Nanoseconds device_idle(const HostWait& wait) const {
    Nanoseconds idle = 0;
    for (std::uint32_t lane = 0; lane < rank_.links.lanes.size(); ++lane) {
      const std::uint32_t work = latest_issued(rank_.links, lane, wait.begin);
      idle = work == kNone ? idle : std::max(idle, rank_.ends[work]);
    }
    return idle;
  }

  void launch(std::uint32_t work, float lead, float cost) {
    const auto stream = static_cast<std::uint8_t>(rank_.links.lane_of_work[work]);
    append({.op = Opcode::StartLag,
            .stream = stream,
            .lead = seconds(starts_[work].after_launch),
            .cost = seconds(starts_[work].after_work)});
    const std::uint32_t collective = rank_.call_number[work];
    append({.op = collective == kNone ? Opcode::Launch : Opcode::Collective,
            .stream = stream,
            .operand = collective == kNone ? kernel(work) : collective,
            .lead = lead,
            .cost = cost},
           work);
    if (needs_.event[work] != kNone) {
      append({.op = Opcode::RecordEvent, .stream = stream, .operand = needs_.event[work]});
    }
    for (const std::uint32_t flag : needs_.posts[work]) {
      append({.op = Opcode::Post, .operand = flag});
    }
    for (const std::uint32_t follower : needs_.followers[work]) {
      launch(follower, 0, 0);
    }
  }

  /// The main thread sees the end of everything.
  void finish() {
    Program& program = made_.program;
    for (std::size_t thread = 1; thread < program.threads.size(); ++thread) {
      program.threads[thread].instructions.push_back({.op = Opcode::Post, .operand = program.flags});
      made_.subjects[thread].push_back(kNone);
      program.threads[0].instructions.push_back({.op = Opcode::Await, .operand = program.flags});
      made_.subjects[0].push_back(kNone);
      ++program.flags;
    }
    program.threads[0].instructions.push_back({.op = Opcode::WaitDevice});
    made_.subjects[0].push_back(kNone);
    if (program.threads.size() + program.streams.size() > kMostActors) {
      throw InputError{{rank_.trace.file},
                       fmt::format("{} threads and {} streams: a rank can have {} of both together",
                                   program.threads.size(), program.streams.size(), kMostActors)};
    }
  }

  std::uint32_t kernel(std::uint32_t work) {
    const kineto::Work& recorded = rank_.trace.work[work];
    const auto [known, fresh] =
        kernels_.try_emplace({rank_.families.number(work), recorded.duration()},
                             static_cast<std::uint32_t>(made_.program.kernels.size()));
    if (fresh) {
      made_.origins.push_back(rank_.families.origin(work));
      made_.program.kernels.push_back({rank_.trace.names.text(recorded.name), DataType::FP32,
                                       Timed{Seconds{1e-9 * static_cast<double>(recorded.duration())}}});
    }
    return known->second;
  }

  std::uint32_t name_number(kineto::NameId name) {
    const auto [known, fresh] =
        names_.try_emplace(name, static_cast<std::uint32_t>(made_.program.names.size()));
    if (fresh) {
      made_.program.names.push_back(rank_.trace.names.text(name));
    }
    return known->second;
  }

  const RankRecording& rank_;
  Dependencies needs_;
  std::vector<Start> starts_;
  RankProgram made_;
  std::uint32_t thread_ = 0;
  Nanoseconds now_ = 0;  // where the thread that is written is in the trace
  std::map<std::pair<std::uint32_t, Nanoseconds>, std::uint32_t> kernels_;  // by WorkFamilies::number
  std::map<kineto::NameId, std::uint32_t> names_;
};

}  // namespace

RankProgram write_program(const RankRecording& rank) {
  return ProgramWriter{rank}.write();
}

}  // namespace lockstep::replay
