#include "app/sweep/sweep_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "app/metrics_json.hpp"
#include "app/schedule/schedule_report.hpp"
#include "app/sweep/point_claim.hpp"
#include "base/effective.hpp"
#include "base/file.hpp"
#include "base/forked_tasks.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/prediction.hpp"
#include "scenario/scenario_file.hpp"
#include "scenario/shared_parts.hpp"
#include "sim/log.hpp"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kLongestMessage = 2000;

/// Metrics of a point; of a scenario with a schedule, the whole training's.
std::string metrics_of(const YamlDocument& document, const ConfigPath& configs) {
  const YamlNode& root = document.root();
  if (root.find("schedule") != nullptr || root.find("campaign") != nullptr) {
    const Timelines nobody{[](const auto&, const auto&, const auto&) { return TimelineRequest{}; }, [] {}};
    return schedule_json(predict_schedule(scheduled_scenario(document, configs), configs, document, nobody),
                         nullptr);
  }
  const ResolvedScenario resolved = build(document, configs);
  check_memory(resolved);
  return metrics_json(resolved, predict(resolved, nullptr));
}

/// In a child: one point, from its scenario to its record.
int simulate_point(const SweepPlan& plan, const SweepPoint& point, const std::filesystem::path& folder) {
  set_usual_log_level(spdlog::level::err);
  PointRecord record{point.key, {}, {}, {}};
  record.outcome = outcome_of([&] {
    const YamlDocument document = plan.document_of(point);
    record.metrics = metrics_of(document, plan.configs());
    record.effective = effective_text<ScenarioSpec>(document, plan.configs());
    return kExitOk;
  });
  const Outcome written = outcome_of([&] {
    write_record(folder, record);
    return kExitOk;
  });
  fmt::print(stderr, "{}", written.message);
  return written.exit_code;
}

/// The outcome of a child that ended without a record.
Outcome broken_end(const EndedTask& ended) {
  constexpr int kSignalled = 128;
  std::string message = ended.exit_code == kSignalled + SIGKILL
                            ? "the process was killed; is there enough memory?"
                            : fmt::format("the process ended with exit code {}", ended.exit_code);
  if (!ended.said.empty()) {
    message += ": " + ended.said.substr(0, kLongestMessage);
  }
  return {ended.exit_code == kExitOk ? kExitBug : ended.exit_code, message};
}

class SweepRunner {
 public:
  SweepRunner(const SweepPlan& plan, const SweepOptions& options, const Progress& progress)
      : plan_{plan},
        options_{options},
        progress_{progress},
        claims_{points_folder(options.folder)},
        rows_(plan.points().size()) {
    const std::size_t count = plan.points().size();
    const std::size_t first =
        count * static_cast<std::size_t>(options.place.rank) / static_cast<std::size_t>(options.place.size);
    for (std::size_t i = 0; i < count; ++i) {
      open_.push_back(plan.order()[(first + i) % count]);
    }
  }

  SweepEnd run() {
    forget_broken_ends();
    while (children_.interruption() == 0) {
      start_points();
      if (open_.empty() && children_.running() == 0) {
        break;
      }
      if (children_.running() == 0 && !options_.place.waits) {
        break;  // what is open is claimed by others
      }
      show();
      for (const EndedTask& ended : children_.wait(children_.running() > 0 ? 1000ms : 100ms)) {
        finish(ended);
      }
      renew_claims();
    }
    return end();
  }

 private:
  /// Forgets points that were killed or met a bug, to try them again once a sweep; warns of damaged records.
  void forget_broken_ends() {
    for (std::size_t number = 0; number < plan_.points().size(); ++number) {
      const SweepPoint& point = plan_.points()[number];
      std::optional<SweepRow>& row = rows_[number] = read_row(options_.folder, point.key);
      const std::filesystem::path record = record_path(options_.folder, point.key);
      if (std::error_code absent; !row && std::filesystem::exists(record, absent)) {
        log_of(LogComponent::App)
            .warn("{}: the record is damaged, or another version's; its point is simulated again",
                  record.string());
      }
      if (row && !is_final(row->outcome.exit_code) && !claims_.is_held(point.key)) {
        std::error_code gone;
        std::filesystem::remove(record, gone);
        row.reset();
      }
    }
  }

  /// Whole: a damaged record is written anew. A record is read once, since a large machine's has megabytes.
  [[nodiscard]] bool is_recorded(std::size_t number) {
    if (!rows_[number]) {
      rows_[number] = read_row(options_.folder, plan_.points()[number].key);
    }
    return rows_[number].has_value();
  }

  /// Begins as many of the open points as may run; drops those that others have recorded on the way.
  void start_points() {
    auto next = open_.begin();
    while (next != open_.end() && children_.running() < static_cast<std::size_t>(options_.jobs)) {
      next = is_begun_or_recorded(*next) ? open_.erase(next) : next + 1;
    }
  }

  bool is_begun_or_recorded(std::size_t number) {
    const SweepPoint& point = plan_.points()[number];
    if (is_recorded(number)) {
      return true;
    }
    if (!claims_.claim(point.key)) {
      return false;
    }
    if (is_recorded(number)) {  // between the look and the claim
      claims_.release(point.key);
    } else {
      begin(number);
    }
    return true;
  }

  void begin(std::size_t number) {
    const SweepPoint& point = plan_.points()[number];
    if (point.mistake) {
      write_record(options_.folder, {point.key, {kExitInput, *point.mistake}, {}, {}});
      claims_.release(point.key);
      ++simulated_;
      return;
    }
    share_parts_of(number);
    running_.insert_or_assign(number, Clock::now());
    children_.start(number, [this, &point] { return simulate_point(plan_, point, options_.folder); });
  }

  /// Makes, before the point's process is forked, what another point needs too; forgets what none does.
  void share_parts_of(std::size_t number) {
    const SweepPoint& point = plan_.points()[number];
    const auto is_awaited = [&](std::size_t SweepPoint::*part) {
      return std::ranges::any_of(open_, [&](std::size_t other) {
        return other != number && plan_.points()[other].*part == point.*part;
      });
    };
    const bool has_machine = shared_machine_ == point.machine;
    if (shared_job_ == point.job) {
      return;
    }
    if (is_awaited(&SweepPoint::job)) {
      share_parts(plan_.document_of(point), plan_.configs(), SharedParts::MachineAndJob);
      shared_job_ = point.job;
      shared_machine_ = point.machine;
    } else if (has_machine ? shared_job_.has_value() : is_awaited(&SweepPoint::machine)) {
      share_parts(plan_.document_of(point), plan_.configs(), SharedParts::Machine);
      shared_job_.reset();
      shared_machine_ = point.machine;
    } else if (!has_machine) {
      forget_parts();
      shared_job_.reset();
      shared_machine_.reset();
    }
  }

  void finish(const EndedTask& ended) {
    const SweepPoint& point = plan_.points()[ended.task];
    if (children_.interruption() == 0 && !is_recorded(ended.task)) {
      write_record(options_.folder, {point.key, broken_end(ended), {}, {}});
    }
    claims_.release(point.key);
    running_.erase(ended.task);
    ++simulated_;
  }

  void renew_claims() {
    const auto now = Clock::now();
    for (auto& [number, renewed] : running_) {
      if (now - renewed >= PointClaims::kRenewEvery) {
        claims_.renew(plan_.points()[number].key);
        renewed = now;
      }
    }
  }

  void show() {
    const std::size_t count = plan_.points().size();
    const std::size_t done = count - open_.size() - running_.size();
    std::string text = fmt::format("{} of {} points done, {} running", done, count, running_.size());
    if (simulated_ > 0) {
      const std::chrono::duration<double> passed = Clock::now() - begun_;
      const double left =
          passed.count() / static_cast<double>(simulated_) * static_cast<double>(count - done);
      text += fmt::format(", about {:.0f} s left", left);
    }
    progress_.say(running_.empty() ? text + ", waiting for other processes" : text);
    tell_of_waiting();
  }

  /// Once, where nothing has run here for a while: what it waits for.
  void tell_of_waiting() {
    constexpr auto kPatience = 10s;
    if (!running_.empty() || children_.running() > 0) {
      waiting_since_ = Clock::now();
    } else if (!told_of_waiting_ && Clock::now() - waiting_since_ > kPatience && !open_.empty()) {
      told_of_waiting_ = true;
      log_of(LogComponent::App)
          .warn("waiting for {}; a claim that is not renewed for {} s is void",
                claims_.holder(plan_.points()[open_.front()].key), PointClaims::kStaleAfter.count());
    }
  }

  SweepEnd end() {
    for (const auto& [number, renewed] : running_) {  // only where there was an interruption
      claims_.release(plan_.points()[number].key);
    }
    for (std::size_t number = 0; number < rows_.size(); ++number) {
      if (is_recorded(number)) {
        rows_[number]->labels = plan_.labels(plan_.points()[number]);
      }
    }
    SweepEnd end{simulated_, std::move(rows_), children_.interruption()};
    if (end.recorded() == plan_.points().size()) {
      tidy_up();
    }
    progress_.done();
    return end;
  }

  /// Removes what processes left behind that were killed.
  void tidy_up() const {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator{points_folder(options_.folder), gone}) {
      const auto kind = entry.path().extension();
      if (kind == ".part" || kind == ".claim" || kind == ".clock") {
        std::filesystem::remove(entry.path(), gone);
      }
    }
  }

  const SweepPlan& plan_;
  const SweepOptions& options_;
  const Progress& progress_;
  PointClaims claims_;
  ForkedTasks children_;
  std::vector<std::optional<SweepRow>> rows_;         ///< of records that were read, by point
  std::vector<std::size_t> open_;                     ///< neither recorded nor running here, next first
  std::map<std::size_t, Clock::time_point> running_;  ///< when its claim was renewed
  std::optional<std::size_t> shared_machine_;         ///< numbers of what is kept for the points to come
  std::optional<std::size_t> shared_job_;
  std::size_t simulated_ = 0;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point waiting_since_ = Clock::now();
  bool told_of_waiting_ = false;
};

}  // namespace

std::size_t SweepEnd::recorded() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const auto& row) { return row.has_value(); }));
}

SweepEnd run_sweep(const SweepPlan& plan, const SweepOptions& options, const Progress& progress) {
  std::error_code failure;
  std::filesystem::create_directories(points_folder(options.folder), failure);
  if (failure) {
    throw InputError{{options.folder.string()}, fmt::format("cannot be made: {}", failure.message())};
  }
  return SweepRunner{plan, options, progress}.run();
}

}  // namespace lockstep
