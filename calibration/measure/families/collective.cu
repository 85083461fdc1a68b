#include "calibration/measure/families/collective.cuh"

#ifdef LOCKSTEP_HAS_NCCL
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "calibration/measure/families/collective_call.cuh"
#include "calibration/measure/family.hpp"

namespace lockstep {
namespace {

/// The buffers of a point on the GPUs of this process. Every process has one and calls the same.
class Collective {
 public:
  Collective(const Processes& processes, std::shared_ptr<const Communicators> communicators,
             const GridPoint& point)
      : processes_{processes},
        communicators_{std::move(communicators)},
        operation_{point.text("operation")},
        elements_{static_cast<std::size_t>(point.integer("bytes") / 4)} {
    int current = 0;
    LOCKSTEP_CHECK(cudaGetDevice(&current));
    for (const LocalRank& rank : communicators_->local()) {
      LOCKSTEP_CHECK(cudaSetDevice(rank.device));
      send_.push_back(random_numbers("fp32", static_cast<std::int64_t>(elements_), 1));
      receive_.push_back(point.integer("in_place") != 0
                             ? send_.back()
                             : random_numbers("fp32", static_cast<std::int64_t>(elements_), 2));
    }
    LOCKSTEP_CHECK(cudaSetDevice(current));
    calls(5);
    constexpr double kMostTime = 20e-3;
    iterations_ = static_cast<int>(std::clamp(std::floor(kMostTime / std::max(calls(2), 1e-6)), 2.0, 20.0));
  }

  [[nodiscard]] Seconds once() { return Seconds{calls(iterations_)}; }

 private:
  /// Seconds a call, the mean over processes.
  double calls(int count) {
    wait();
    processes_.meet();
    const Seconds begin = host_now();
    for (int i = 0; i < count; ++i) {
      LOCKSTEP_CHECK(ncclGroupStart());
      for (std::size_t r = 0; r < send_.size(); ++r) {
        const LocalRank& rank = communicators_->local()[r];
        call_collective(operation_, rank, communicators_->ranks(),
                        {send_[r]->as<float>(), receive_[r]->as<float>(), elements_}, *rank.stream);
      }
      LOCKSTEP_CHECK(ncclGroupEnd());
    }
    wait();
    return processes_.mean((host_now() - begin) / Seconds{1} / count);
  }

  void wait() const {
    for (const LocalRank& rank : communicators_->local()) {
      LOCKSTEP_CHECK(cudaStreamSynchronize(*rank.stream));
    }
  }

  const Processes& processes_;
  std::shared_ptr<const Communicators> communicators_;
  std::string operation_;
  std::size_t elements_;
  std::vector<SharedMemory> send_;
  std::vector<SharedMemory> receive_;
  int iterations_ = 2;
};

/// Communicators stay: making one takes a second.
std::shared_ptr<const Communicators> communicators_over(const Processes& processes, int gpus, int ranks) {
  static std::map<int, std::shared_ptr<const Communicators>> made;
  std::shared_ptr<const Communicators>& found = made[ranks];
  if (!found) {
    found = processes.count() > 1 ? std::make_shared<Communicators>(processes, gpus)
                                  : std::make_shared<Communicators>(ranks);
  }
  return found;
}

std::unique_ptr<Collective> made(const Processes& processes, int gpus, const GridPoint& point) {
  const auto ranks = static_cast<int>(point.integer("ranks"));
  return std::make_unique<Collective>(processes, communicators_over(processes, gpus, ranks), point);
}

GridPoint point_of(const std::string& key) {
  GridPoint point;
  std::size_t begin = 0;
  for (const std::string& name : family_named("collective").parameters) {
    const std::size_t end = std::min(key.find(',', begin), key.size());
    point.set(name, key.substr(begin, end - begin));
    begin = end + 1;
  }
  return point;
}

/// A failure of one of several processes cannot be left out as that of one alone: the others wait.
template <class Action>
auto together(const Processes& processes, const Action& action) {
  try {
    return action();
  } catch (const CudaError& failure) {
    if (processes.count() == 1) {
      throw;
    }
    throw std::logic_error{failure.what()};
  }
}

// What the leader says; the key of a point is anything else.
constexpr const char* kOnce = "once";
constexpr const char* kEnd = "end";

}  // namespace

bool has_nccl() {
  return true;
}

std::string nccl_version() {
  int version = 0;
  LOCKSTEP_CHECK(ncclGetVersion(&version));
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);  // from 2.9 on
}

std::unique_ptr<Experiment> collective_experiment(const Processes& processes, int gpus,
                                                  const GridPoint& point) {
  static_cast<void>(processes.from_leader(point.key()));
  std::shared_ptr<Collective> collective = together(processes, [&] { return made(processes, gpus, point); });
  return timed_by_itself([&processes, collective] {
    static_cast<void>(processes.from_leader(std::string{kOnce}));
    return together(processes, [&] { return collective->once(); });
  });
}

void follow(const Processes& processes, int gpus) {
  std::unique_ptr<Collective> collective;
  for (std::string said = processes.from_leader({}); said != kEnd; said = processes.from_leader({})) {
    if (said == kOnce) {
      static_cast<void>(collective->once());
    } else {
      collective.reset();  // before the next is made: both may not fit
      collective = made(processes, gpus, point_of(said));
    }
  }
}

void dismiss(const Processes& processes) {
  static_cast<void>(processes.from_leader(std::string{kEnd}));
}

Launch all_reduce_of_one_process(int gpus, std::int64_t bytes) {
  static const auto communicators = std::make_shared<Communicators>(gpus);
  int current = 0;
  LOCKSTEP_CHECK(cudaGetDevice(&current));
  std::vector<SharedMemory> numbers;
  for (const LocalRank& rank : communicators->local()) {
    LOCKSTEP_CHECK(cudaSetDevice(rank.device));
    numbers.push_back(random_numbers("fp32", bytes / 4, 1));
  }
  LOCKSTEP_CHECK(cudaSetDevice(current));
  return [numbers](cudaStream_t stream) {
    LOCKSTEP_CHECK(ncclGroupStart());
    for (std::size_t r = 0; r < numbers.size(); ++r) {
      const LocalRank& rank = communicators->local()[r];
      auto* const data = numbers[r]->as<float>();
      call_collective("all_reduce", rank, communicators->ranks(), {data, data, numbers[r]->bytes() / 4},
                      r == 0 ? stream : *rank.stream);
    }
    LOCKSTEP_CHECK(ncclGroupEnd());
  };
}

}  // namespace lockstep

#else

#include <stdexcept>

namespace lockstep {

bool has_nccl() {
  return false;
}
std::string nccl_version() {
  return {};
}

std::unique_ptr<Experiment> collective_experiment(const Processes&, int, const GridPoint&) {
  throw std::logic_error{"built without NCCL"};
}
void follow(const Processes&, int) {}
void dismiss(const Processes&) {}
Launch all_reduce_of_one_process(int, std::int64_t) {
  throw std::logic_error{"built without NCCL"};
}

}  // namespace lockstep
#endif
