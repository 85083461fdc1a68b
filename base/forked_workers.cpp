#include "base/forked_workers.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/shared_array.hpp"

namespace lockstep {
namespace {

std::string part_of(const std::string& text, off_t begin, off_t end) {
  return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace

/// The state of a task. Its child writes it, and hands it over by `state`.
struct ForkedWorkers::Slot {
  enum class State : std::uint8_t { Open, Taken, Done };
  /// Places in the child's output.
  struct Marks {
    off_t printed = 0, said = 0;
  };

  std::atomic<State> state{State::Open};
  std::size_t worker = 0;
  int exit_code = 0;
  Marks begin, end;
  bool is_told = false;  // the parent's

  /// In a child, whose standard output and error are files.
  static Marks marks_now() {
    std::fflush(nullptr);
    return {lseek(STDOUT_FILENO, 0, SEEK_CUR), lseek(STDERR_FILENO, 0, SEEK_CUR)};
  }
};

struct ForkedWorkers::Table {
  explicit Table(std::size_t count) : slots{count} {}

  SharedArray<std::atomic<std::size_t>> next{1};  // one: the first task that nobody has taken
  SharedArray<Slot> slots;                        // by task
};

ForkedWorkers::ForkedWorkers(std::size_t count, Limits limits, std::function<int(std::size_t)> body)
    : count_{count}, limits_{limits}, body_{std::move(body)}, table_{std::make_unique<Table>(count)} {}

ForkedWorkers::~ForkedWorkers() = default;

/// In a child.
void ForkedWorkers::live(std::size_t worker) {
  for (std::size_t taken = 0; limits_.tasks == 0 || taken < limits_.tasks; ++taken) {
    const std::size_t task = table_->next[0].fetch_add(1);
    if (task >= count_) {
      return;
    }
    Slot& slot = table_->slots[task];
    slot.worker = worker;
    slot.begin = Slot::marks_now();
    slot.state.store(Slot::State::Taken, std::memory_order_release);
    slot.exit_code = body_(task);
    slot.end = Slot::marks_now();
    slot.state.store(Slot::State::Done, std::memory_order_release);
  }
}

std::vector<EndedTask> ForkedWorkers::wait(std::chrono::milliseconds limit) {
  const std::size_t wanted = std::min(limits_.children, count_ - told_);
  for (; running_.size() < wanted && table_->next[0].load() < count_; ++started_) {
    running_.push_back(started_);
    children_.start(started_, [this] {
      live(started_);
      return 0;
    });
  }
  std::vector<EndedTask> ended;
  for (const EndedTask& worker : children_.wait(limit)) {
    std::erase(running_, worker.task);
    tell(done_by(worker.task), {worker.printed, worker.said}, ended);
    tell_death(worker, ended);
  }
  for (const std::size_t worker : running_) {
    const std::vector<std::size_t> done = done_by(worker);  // before what it wrote is read
    if (!done.empty()) {
      tell(done, children_.output_of(worker), ended);
    }
  }
  std::ranges::sort(ended, {}, &EndedTask::task);
  told_ += ended.size();
  return ended;
}

std::vector<std::size_t> ForkedWorkers::done_by(std::size_t worker) const {
  std::vector<std::size_t> done;
  for (std::size_t task = 0; task < count_; ++task) {
    const Slot& slot = table_->slots[task];
    if (slot.state.load(std::memory_order_acquire) == Slot::State::Done && slot.worker == worker &&
        !slot.is_told) {
      done.push_back(task);
    }
  }
  return done;
}

void ForkedWorkers::tell(const std::vector<std::size_t>& done, const ChildOutput& output,
                         std::vector<EndedTask>& ended) {
  for (const std::size_t task : done) {
    Slot& slot = table_->slots[task];
    slot.is_told = true;
    ended.push_back({task, slot.exit_code, part_of(output.printed, slot.begin.printed, slot.end.printed),
                     part_of(output.said, slot.begin.said, slot.end.said)});
  }
}

void ForkedWorkers::tell_death(const EndedTask& worker, std::vector<EndedTask>& ended) {
  constexpr int kKilled = 128 + SIGKILL;
  const bool is_last = running_.empty() && table_->next[0].load() >= count_;
  for (std::size_t task = 0; task < count_; ++task) {
    Slot& slot = table_->slots[task];
    const Slot::State state = slot.state.load(std::memory_order_acquire);
    if (state == Slot::State::Taken && slot.worker == worker.task) {
      ended.push_back({task, worker.exit_code,
                       worker.printed.substr(static_cast<std::size_t>(slot.begin.printed)),
                       worker.said.substr(static_cast<std::size_t>(slot.begin.said))});
    } else if (state == Slot::State::Open && is_last) {  // a child was killed while it took this one
      ended.push_back({task, kKilled, {}, {}});
    } else {
      continue;
    }
    slot.is_told = true;
    slot.state.store(Slot::State::Done, std::memory_order_release);
  }
}

}  // namespace lockstep
