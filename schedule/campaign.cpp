#include "schedule/campaign.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace lockstep {
namespace {

/// Work in segments of which a checkpoint ends each.
struct Segments {
  double whole = 0;  ///< how many full ones
  double last = 0;   ///< s, of the rest with its checkpoint; 0: none
  double full = 0;   ///< s

  [[nodiscard]] double count() const { return whole + (last > 0 ? 1 : 0); }
};

Segments segments_of(const CampaignTask& task) {
  if (!(task.interval > 0) || task.interval >= task.work) {
    return {0, task.work + (task.interval > 0 ? task.write : 0), 0};
  }
  const double whole = std::floor(task.work / task.interval);
  const double rest = task.work - whole * task.interval;
  const bool has_rest = rest > 1e-9 * task.interval;
  return {whole, has_rest ? rest + task.write : 0, task.interval + task.write};
}

double expected_segment(double seconds, const CampaignTask& task) {
  return task.rate > 0 ? std::exp(task.rate * task.restart) * std::expm1(task.rate * seconds) / task.rate
                       : seconds;
}

/// Uniform numbers, one after the other.
class Draws {
 public:
  explicit Draws(Random random) : random_{random} {}
  double exponential(double rate) { return -std::log1p(-random_.uniform(next_++)) / rate; }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

double drawn_segment(double seconds, const CampaignTask& task, Draws& draws) {
  double passed = 0;
  for (double life = draws.exponential(task.rate); life < seconds; life = draws.exponential(task.rate)) {
    passed += life;
    for (double next = draws.exponential(task.rate); next < task.restart;
         next = draws.exponential(task.rate)) {
      passed += next;
    }
    passed += task.restart;
  }
  return passed + seconds;
}

}  // namespace

CampaignTimes campaign_times(const CampaignTask& task) {
  const Segments segments = segments_of(task);
  CampaignTimes times;
  times.work = task.work;
  times.checkpoints = task.interval > 0 ? segments.count() : 0;
  times.in_checkpoints = times.checkpoints * task.write;
  times.expected = segments.whole * expected_segment(segments.full, task) +
                   (segments.last > 0 ? expected_segment(segments.last, task) : 0);
  times.lost = std::max(0.0, times.expected - times.work - times.in_checkpoints);
  times.failures = task.rate * times.expected;
  return times;
}

double young_interval(double write, double rate) {
  return std::sqrt(2 * write / rate);
}

double daly_interval(double write, double rate) {
  const double mtbf = 1 / rate, x = write / (2 * mtbf);
  return x < 1 ? std::sqrt(2 * write * mtbf) * (1 + std::sqrt(x) / 3 + x / 9) - write : mtbf;
}

DrawnCampaigns drawn_campaigns(const CampaignTask& task, int trials, std::uint64_t seed) {
  const Segments segments = segments_of(task);
  const Random random{seed, "campaign"};
  std::vector<double> ends;
  for (int trial = 0; trial < trials; ++trial) {
    Draws draws{random.of(static_cast<std::uint64_t>(trial))};
    const auto of = [&](double seconds) {
      return task.rate > 0 ? drawn_segment(seconds, task, draws) : seconds;
    };
    double end = segments.last > 0 ? of(segments.last) : 0;
    for (double segment = 0; segment < segments.whole; ++segment) {
      end += of(segments.full);
    }
    ends.push_back(end);
  }
  std::ranges::sort(ends);
  DrawnCampaigns drawn;
  double squares = 0;
  for (const double end : ends) drawn.mean += end / static_cast<double>(trials);
  for (const double end : ends) squares += (end - drawn.mean) * (end - drawn.mean);
  drawn.error = std::sqrt(squares / (static_cast<double>(trials) - 1) / static_cast<double>(trials));
  const auto quantile = [&](double share) {
    return ends[static_cast<std::size_t>(std::llround(share * static_cast<double>(trials - 1)))];
  };
  drawn.p5 = quantile(0.05);
  drawn.p95 = quantile(0.95);
  return drawn;
}

}  // namespace lockstep
