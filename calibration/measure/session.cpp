#include "calibration/measure/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "base/error.hpp"

namespace lockstep {
namespace {

using Tell = std::function<void(const std::string&)>;

std::string minutes(Seconds time) {
  const long whole = std::lround(time / Seconds{1});
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

Seconds now() {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

/// A family's table and what is missing in it.
struct Work {
  const Family* family;
  std::unique_ptr<ResultsFile> file;
  std::vector<GridPoint> due;
};

/// Every table is opened before anything is measured: what is wrong with one is told at once.
std::vector<Work> work_of(const Options& options, const MachineUnderTest& machine, const Tell& tell) {
  std::vector<Work> work;
  for (const Family* family : options.families) {
    const std::vector<GridPoint> grid = family->grid(machine.limits, options.extent);
    if (grid.empty()) {
      tell(fmt::format("{}: this machine has nothing to measure", family->name));
      continue;
    }
    Work one{
        family, std::make_unique<ResultsFile>(options.out, *family, machine.description, options.resume), {}};
    for (const GridPoint& point : grid) {
      if (!one.file->has(point)) {
        one.due.push_back(point);
      }
    }
    work.push_back(std::move(one));
  }
  return work;
}

/// The rest of the run at the families' typical times, corrected by how it went so far.
class Estimate {
 public:
  Estimate(const std::vector<Work>& work, Extent extent) : extent_{extent}, begin_{now()} {
    for (const Work& one : work) {
      left_ += expected_time(*one.family, one.due.size(), extent);
    }
  }
  void done_with_a_point_of(const Family& family) {
    const Seconds expected = expected_time(family, 1, extent_);
    left_ = left_ - expected;
    done_ += expected;
  }
  [[nodiscard]] Seconds left() const {
    const bool knows_pace = done_ > Seconds{10};
    return knows_pace ? left_ * (elapsed() / done_) : left_;
  }
  [[nodiscard]] Seconds elapsed() const { return now() - begin_; }

 private:
  Extent extent_;
  Seconds begin_;
  Seconds left_;
  Seconds done_;
};

void measure_point(const MachineUnderTest& machine, Work& work, const GridPoint& point,
                   const StoppingRule& rule) {
  const std::unique_ptr<Experiment> experiment = machine.prepare(*work.family, point);
  const Spread spread = repeated(*experiment, rule);
  const int clock = machine.sm_clock_mhz();
  work.file->append({.point = point, .spread = spread, .facts = experiment->facts(), .sm_clock_mhz = clock});
}

/// Whether the point was measured. @throws std::runtime_error where nothing can be measured any more
bool survived(const MachineUnderTest& machine, Work& work, const GridPoint& point, const StoppingRule& rule,
              const Tell& tell) {
  try {
    measure_point(machine, work, point, rule);
    return true;
  } catch (const InputError&) {  // the table cannot be written
    throw;
  } catch (const std::runtime_error& failure) {
    tell(fmt::format("{}: {} left out: {}", work.family->name, point.key(), failure.what()));
    if (!machine.works()) {
      throw std::runtime_error{
          fmt::format("the GPU does not work after that; what is measured is in the tables, "
                      "--resume goes on")};
    }
    return false;
  }
}

}  // namespace

std::string list_of(const Options& options, const MachineLimits& limits) {
  std::string text;
  Seconds total;
  for (const Family* family : options.families) {
    const std::size_t points = family->grid(limits, options.extent).size();
    const Seconds time = expected_time(*family, points, options.extent);
    total += time;
    text += fmt::format("{:<14}{:>6} points {:>10}  {}\n{:<14}columns: {}\n", family->name, points,
                        minutes(time), family->what, "", fmt::join(columns_of(*family), " "));
  }
  return text + fmt::format("in all about {}\n", minutes(total));
}

StoppingRule stopping_rule(Extent extent) {
  if (extent == Extent::Quick) {
    return {.least = 10, .most = 100, .median_error = 0.025, .budget = Seconds{0.05}};
  }
  return {.least = 20, .most = 400, .median_error = 0.01, .budget = Seconds{0.2}};
}

Outcomes measure_all(const Options& options, const MachineUnderTest& machine, const Tell& tell) {
  std::vector<Work> work = work_of(options, machine, tell);
  Estimate estimate{work, options.extent};
  tell(fmt::format("about {} to measure into {}", minutes(estimate.left()), options.out.string()));
  const StoppingRule rule = stopping_rule(options.extent);
  constexpr Seconds kBetweenLines{5};
  Outcomes outcomes;
  for (Work& one : work) {
    tell(fmt::format("{}: {} points, {} are there already", one.family->name, one.due.size(),
                     one.file->rows()));
    Seconds told = now();
    for (std::size_t i = 0; i < one.due.size(); ++i) {
      ++(survived(machine, one, one.due[i], rule, tell) ? outcomes.measured : outcomes.failed);
      estimate.done_with_a_point_of(*one.family);
      if (now() - told > kBetweenLines) {
        told = now();
        tell(fmt::format("{}: {} of {}; {} so far, about {} left", one.family->name, i + 1, one.due.size(),
                         minutes(estimate.elapsed()), minutes(estimate.left())));
      }
    }
  }
  tell(fmt::format("{} points measured in {}, {} failed", outcomes.measured, minutes(estimate.elapsed()),
                   outcomes.failed));
  return outcomes;
}

}  // namespace lockstep
