#include "traces/pipeline/step_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

constexpr double kOverlap = 0.1;  // of the shorter one: see order_of()

bool is_between_stages(Partners partners) {
  using enum Partners;
  return partners == SendToNext || partners == ReceiveFromPrev || partners == SendToPrev ||
         partners == ReceiveFromNext;
}

/// The key that the partners of an operation share: type, and the group that meets.
using MeetingKey = std::tuple<std::string, int, int, int>;

class Orderer {
 public:
  Orderer(const Timeline& timeline, std::int64_t step) : timeline_{timeline}, step_{step} {
    const auto& all = timeline.operations;
    const auto first = std::lower_bound(all.begin(), all.end(), step,
                                        [](const Operation& one, std::int64_t s) { return one.step < s; });
    const auto last = std::upper_bound(first, all.end(), step,
                                       [](std::int64_t s, const Operation& one) { return s < one.step; });
    order_.operations = {first, last};
    order_.tasks.resize(timeline.workers.size());
  }

  StepOrder order() && {
    make_tasks();
    hold_meetings();
    find_order_of_meetings();
    for (auto& tasks : order_.tasks) {
      find_predecessors(tasks);
    }
    find_delays();
    return std::move(order_);
  }

 private:
  [[nodiscard]] const Operation& operation(std::uint32_t number) const { return order_.operations[number]; }

  [[nodiscard]] double start_of(const Task& task) const {
    double start = operation(task.operations.front()).start;
    for (const std::uint32_t number : task.operations) {
      start = std::max(start, operation(number).start);
    }
    return start;
  }
  [[nodiscard]] double end_of(const Task& task) const {
    double end = operation(task.operations.front()).end;
    for (const std::uint32_t number : task.operations) {
      end = std::max(end, operation(number).end);
    }
    return end;
  }

  void make_tasks() {
    for (std::uint32_t number = 0; number < order_.operations.size(); ++number) {
      const Operation& next = operation(number);
      std::vector<Task>& tasks = order_.tasks[next.worker];
      const auto same_lane = std::find_if(tasks.rbegin(), tasks.rend(),
                                          [&](const Task& task) { return task.lane == next.lane; });
      const bool joins = same_lane != tasks.rend() && is_between_stages(next.type->partners) &&
                         is_between_stages(operation(same_lane->operations.front()).type->partners) &&
                         next.start < end_of(*same_lane);
      if (joins) {
        same_lane->operations.push_back(number);
      } else {
        tasks.push_back({.operations = {number}, .meetings = {}, .after = {}, .lane = next.lane});
      }
    }
  }

  /// The meeting of an operation, and whether it is the receiving end; nothing for what is done alone.
  [[nodiscard]] std::optional<std::pair<MeetingKey, bool>> key_of(const Operation& operation) const {
    const Worker& worker = timeline_.workers[operation.worker];
    const int stages = timeline_.stages;
    const auto key = [&](int stage, int data, int tensor) {
      return MeetingKey{operation.type->type, stage, data, tensor};
    };
    switch (operation.type->partners) {
      case Partners::None:
        return std::nullopt;
      case Partners::SendToNext:
      case Partners::SendToPrev:
        return std::pair{key(worker.stage, worker.data, worker.tensor), false};
      case Partners::ReceiveFromPrev:
        return std::pair{key((worker.stage + stages - 1) % stages, worker.data, worker.tensor), true};
      case Partners::ReceiveFromNext:
        return std::pair{key((worker.stage + 1) % stages, worker.data, worker.tensor), true};
      case Partners::DataGroup:
        return std::pair{key(worker.stage, -1, worker.tensor), false};
      case Partners::TensorGroup:
        return std::pair{key(worker.stage, worker.data, -1), false};
      case Partners::FirstAndLast:
        return std::pair{key(-1, worker.data, worker.tensor), false};
      case Partners::All:
        break;
    }
    return std::pair{key(-1, -1, -1), false};
  }

  struct Place {
    std::uint32_t worker, task;
  };
  /// Places where each member, by worker and whether it receives, calls what a key stands for.
  using Members = std::map<std::pair<std::uint32_t, bool>, std::vector<Place>>;

  [[nodiscard]] std::map<MeetingKey, Members> calls() const {
    std::map<MeetingKey, Members> calls;
    for (std::uint32_t worker = 0; worker < order_.tasks.size(); ++worker) {
      for (std::uint32_t task = 0; task < order_.tasks[worker].size(); ++task) {
        for (const std::uint32_t number : order_.tasks[worker][task].operations) {
          if (const auto key = key_of(operation(number))) {
            calls[key->first][{worker, key->second}].push_back({worker, task});
          }
        }
      }
    }
    return calls;
  }

  void check_members(const MeetingKey& key, const Members& members) const {
    const auto& [first, places] = *members.begin();
    for (const auto& [member, theirs] : members) {
      if (theirs.size() != places.size()) {
        reject(key, fmt::format("{} times by {}, {} times by {}", places.size(), named(first.first),
                                theirs.size(), named(member.first)));
      }
    }
    if (is_between_stages(partners_of(std::get<0>(key))) && members.size() != 2) {
      reject(key, fmt::format("only by {}: a message has a sender and a receiver", named(first.first)));
    }
  }

  void hold_meetings() {
    for (const auto& [key, members] : calls()) {
      check_members(key, members);
      for (std::size_t k = 0; k < members.begin()->second.size(); ++k) {
        const auto meeting = static_cast<std::uint32_t>(order_.meetings.size());
        order_.meetings.emplace_back();
        for (const auto& [member, theirs] : members) {
          order_.meetings[meeting].workers.push_back(member.first);
          order_.tasks[theirs[k].worker][theirs[k].task].meetings.push_back(meeting);
        }
      }
    }
  }

  [[nodiscard]] Partners partners_of(const std::string& type) const {
    const auto found = std::find_if(order_.operations.begin(), order_.operations.end(),
                                    [&](const Operation& one) { return type == one.type->type; });
    return found->type->partners;
  }
  [[nodiscard]] std::string named(std::uint32_t worker) const {
    const Worker& who = timeline_.workers[worker];
    return fmt::format("stage {}, data rank {}, tensor rank {}", who.stage, who.data, who.tensor);
  }
  [[noreturn]] void reject(const MeetingKey& key, const std::string& why) const {
    throw InputError{{timeline_.file},
                     fmt::format("step {}: '{}' is called {}", step_, std::get<0>(key), why)};
  }

  /// Numbers meetings by when they were held: partners then come to them in the same order.
  void find_order_of_meetings() {
    std::vector<std::pair<double, std::uint32_t>> held(order_.meetings.size());
    for (std::uint32_t meeting = 0; meeting < held.size(); ++meeting) {
      held[meeting].second = meeting;
    }
    for (const auto& tasks : order_.tasks) {
      for (const Task& task : tasks) {
        for (const std::uint32_t meeting : task.meetings) {
          held[meeting].first = std::max(held[meeting].first, start_of(task));
        }
      }
    }
    std::sort(held.begin(), held.end());
    std::vector<std::uint32_t> number(held.size());
    std::vector<Meeting> meetings;
    for (std::uint32_t place = 0; place < held.size(); ++place) {
      number[held[place].second] = place;
      meetings.push_back(std::move(order_.meetings[held[place].second]));
    }
    order_.meetings = std::move(meetings);
    for (auto& tasks : order_.tasks) {
      for (Task& task : tasks) {
        for (std::uint32_t& meeting : task.meetings) {
          meeting = number[meeting];
        }
        std::sort(task.meetings.begin(), task.meetings.end());
      }
    }
  }

  /// The latest task of each other lane that a task waited for, unless its lane has waited for that before.
  void find_predecessors(std::vector<Task>& tasks) const {
    std::map<std::uint32_t, std::uint32_t> latest;  // by lane
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
        known;  // by lane and other lane: awaited
    for (std::uint32_t number = 0; number < tasks.size(); ++number) {
      Task& task = tasks[number];
      for (const auto& [lane, before] : latest) {
        std::optional<std::uint32_t> awaited = before;
        while (awaited && !ended_before(tasks[*awaited], task)) {
          awaited = previous_of_lane(tasks, *awaited);
        }
        const auto waited_for = known.find({task.lane, lane});
        const bool is_new = awaited && (waited_for == known.end() || waited_for->second < *awaited);
        if (lane != task.lane && is_new) {
          known[{task.lane, lane}] = *awaited;
          task.after.push_back(*awaited);
          tasks[*awaited].awaited = true;
        }
      }
      latest[task.lane] = number;
    }
  }
  [[nodiscard]] bool ended_before(const Task& earlier, const Task& later) const {
    const double shorter = std::min(end_of(earlier) - start_of(earlier), end_of(later) - start_of(later));
    return end_of(earlier) <= start_of(later) + kOverlap * shorter;
  }
  static std::optional<std::uint32_t> previous_of_lane(const std::vector<Task>& tasks, std::uint32_t task) {
    for (std::uint32_t before = task; before-- > 0;) {
      if (tasks[before].lane == tasks[task].lane) {
        return before;
      }
    }
    return std::nullopt;
  }

  /// When a worker could have begun a task, had its partners been there.
  [[nodiscard]] double free_at(const std::vector<Task>& tasks, std::uint32_t task, double begin) const {
    double free = begin;
    if (const auto before = previous_of_lane(tasks, task)) {
      free = std::max(free, end_of(tasks[*before]));
    }
    for (const std::uint32_t other : tasks[task].after) {
      free = std::max(free, end_of(tasks[other]));
    }
    return free;
  }

  void find_delays() {
    double begin = order_.operations.front().start;
    double end = begin;
    for (const Operation& one : order_.operations) {
      begin = std::min(begin, one.start);
      end = std::max(end, one.end);
    }
    order_.measured = end - begin;
    struct Assembly {
      double free = 0, met = 0;
    };
    std::vector<Assembly> assemblies(order_.meetings.size(), {begin, begin});
    const auto for_all_tasks = [&](const auto& action) {
      for (auto& tasks : order_.tasks) {
        for (std::uint32_t task = 0; task < tasks.size(); ++task) {
          action(tasks[task], free_at(tasks, task, begin));
        }
      }
    };
    for_all_tasks([&](const Task& task, double free) {
      for (const std::uint32_t meeting : task.meetings) {
        assemblies[meeting].free = std::max(assemblies[meeting].free, free);
        assemblies[meeting].met = std::max(assemblies[meeting].met, start_of(task));
      }
    });
    order_.transfer.resize(order_.operations.size());
    for_all_tasks([&](Task& task, double free) {
      double met = start_of(task);
      for (const std::uint32_t meeting : task.meetings) {
        free = std::max(free, assemblies[meeting].free);
        met = std::max(met, assemblies[meeting].met);
      }
      task.delay = std::max(0.0, met - free);
      for (const std::uint32_t number : task.operations) {
        order_.transfer[number] = std::clamp(operation(number).end - met, 0.0, operation(number).duration());
      }
    });
  }

  const Timeline& timeline_;
  std::int64_t step_;
  StepOrder order_;
};

}  // namespace

StepOrder order_of(const Timeline& timeline, std::int64_t step) {
  return Orderer{timeline, step}.order();
}

}  // namespace lockstep::pipeline
