#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "calibration/measure/gpu_experiments.cuh"

namespace lockstep {
namespace {

class ColdExperiment final : public Experiment {
 public:
  ColdExperiment(const Gpu& gpu, Launch launch) : gpu_{gpu}, launch_{std::move(launch)} {}

  std::vector<Seconds> repeat(std::size_t count) override {
    // A stream's queue holds about 1024 entries; a repeat is at least four.
    constexpr std::size_t kQueued = 100;
    while (begin_.size() < std::min(count, kQueued)) {
      begin_.push_back(std::make_unique<Event>());
      end_.push_back(std::make_unique<Event>());
    }
    std::vector<Seconds> times;
    while (times.size() < count) {
      queue(std::min(kQueued, count - times.size()), times);
    }
    return times;
  }

 private:
  void queue(std::size_t count, std::vector<Seconds>& times) {
    for (std::size_t i = 0; i < count; ++i) {
      gpu_.flush_cache(gpu_.stream());
      LOCKSTEP_CHECK(cudaEventRecord(*begin_[i], gpu_.stream()));
      launch_(gpu_.stream());
      LOCKSTEP_CHECK(cudaEventRecord(*end_[i], gpu_.stream()));
    }
    LOCKSTEP_CHECK(cudaStreamSynchronize(gpu_.stream()));
    for (std::size_t i = 0; i < count; ++i) {
      times.push_back(between(*begin_[i], *end_[i]));
    }
  }

  const Gpu& gpu_;
  Launch launch_;
  std::vector<std::unique_ptr<Event>> begin_;
  std::vector<std::unique_ptr<Event>> end_;
};

class WarmExperiment final : public Experiment {
 public:
  WarmExperiment(const Gpu& gpu, Launch launch) : gpu_{gpu}, launch_{std::move(launch)} {
    constexpr Seconds kRepeat{200e-6};
    constexpr double kMostLaunches = 64;
    group(1);
    const Seconds one = std::max(group(4), Seconds{1e-6});
    launches_ = static_cast<int>(std::clamp(std::ceil(kRepeat / one), 1.0, kMostLaunches));
  }

  std::vector<Seconds> repeat(std::size_t count) override {
    std::vector<Seconds> times;
    while (times.size() < count) {
      times.push_back(group(launches_));
    }
    return times;
  }

 private:
  /// Time of one of @p launches launches.
  Seconds group(int launches) {
    constexpr Seconds kLaunchOnHost{20e-6};  // at most, for each kernel
    gpu_.keep_busy(gpu_.stream(), static_cast<double>(launches + 2) * kLaunchOnHost);
    LOCKSTEP_CHECK(cudaEventRecord(begin_, gpu_.stream()));
    for (int i = 0; i < launches; ++i) {
      launch_(gpu_.stream());
    }
    LOCKSTEP_CHECK(cudaEventRecord(end_, gpu_.stream()));
    LOCKSTEP_CHECK(cudaStreamSynchronize(gpu_.stream()));
    return between(begin_, end_) / launches;
  }

  const Gpu& gpu_;
  Launch launch_;
  Event begin_;
  Event end_;
  int launches_ = 1;
};

class TimedByItself final : public Experiment {
 public:
  TimedByItself(std::function<Seconds()> once, std::vector<std::string> facts)
      : once_{std::move(once)}, facts_{std::move(facts)} {}

  std::vector<Seconds> repeat(std::size_t count) override {
    std::vector<Seconds> times(count);
    std::generate(times.begin(), times.end(), once_);
    return times;
  }
  [[nodiscard]] std::vector<std::string> facts() const override { return facts_; }

 private:
  std::function<Seconds()> once_;
  std::vector<std::string> facts_;
};

class WithFacts final : public Experiment {
 public:
  WithFacts(std::unique_ptr<Experiment> experiment, std::vector<std::string> facts)
      : experiment_{std::move(experiment)}, facts_{std::move(facts)} {}

  std::vector<Seconds> repeat(std::size_t count) override { return experiment_->repeat(count); }
  [[nodiscard]] std::vector<std::string> facts() const override { return facts_; }

 private:
  std::unique_ptr<Experiment> experiment_;
  std::vector<std::string> facts_;
};

}  // namespace

std::unique_ptr<Experiment> gpu_experiment(const Gpu& gpu, Cache cache, Launch launch) {
  if (cache == Cache::Cold) {
    return std::make_unique<ColdExperiment>(gpu, std::move(launch));
  }
  return std::make_unique<WarmExperiment>(gpu, std::move(launch));
}

std::unique_ptr<Experiment> timed_by_itself(std::function<Seconds()> once, std::vector<std::string> facts) {
  return std::make_unique<TimedByItself>(std::move(once), std::move(facts));
}

std::unique_ptr<Experiment> with_facts(std::unique_ptr<Experiment> experiment,
                                       std::vector<std::string> facts) {
  return std::make_unique<WithFacts>(std::move(experiment), std::move(facts));
}

Seconds host_now() {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

}  // namespace lockstep
