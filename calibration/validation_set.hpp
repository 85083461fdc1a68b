#pragma once

/// @file
/// Measured training steps, kernels and collectives to compare predictions with (configs/validation/,
/// docs/validation.md).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/units.hpp"

namespace lockstep {

/// Columns of measured durations, or of a rate.
struct MeasuredColumns {
  std::optional<std::string> step;
  std::optional<std::string> samples_per_second;
  std::optional<std::string> gpu_busy;
  Seconds profiler_adds;  ///< to each kernel in gpu_busy
  Seconds timing_adds;    ///< to each row of kernels or collectives

  template <class Visitor>
  static void describe(Visitor& key, MeasuredColumns& columns) {
    key.optional("step", columns.step, std::nullopt,
                 "column of step times; of a set of kernels or collectives of their durations");
    key.optional("samples_per_second", columns.samples_per_second, std::nullopt,
                 "column of samples a second of the whole job, in place of step times: a step is "
                 "workload.global_batch of them");
    key.optional("gpu_busy", columns.gpu_busy, std::nullopt,
                 "column of the time in which at least one stream of the GPU was active");
    key.optional("profiler_adds", columns.profiler_adds, Seconds{0},
                 "how much longer than without a profiler gpu_busy has each kernel (copies and memory sets "
                 "aside); added to the prediction of gpu_busy, not to that of the step");
    key.optional("timing_adds", columns.timing_adds, Seconds{0},
                 "of a set of kernels or collectives: what was measured beside each of them, e.g. by the "
                 "events round a kernel, or launching a collective; added to the prediction");
  }
  void check() const {
    if (step.has_value() == samples_per_second.has_value()) {
      throw FieldError{"step", "either a column of step times or one of samples_per_second"};
    }
    if (profiler_adds < Seconds{0}) {
      throw FieldError{"profiler_adds", "not negative, e.g. 1.1 us"};
    }
    if (profiler_adds > Seconds{0} && !gpu_busy) {
      throw FieldError{"profiler_adds", "only beside 'gpu_busy', which a profiler recorded"};
    }
    if (timing_adds < Seconds{0}) {
      throw FieldError{"timing_adds", "not negative, e.g. 3 us"};
    }
  }
};

/// Step times that a predictor published elsewhere than in the table.
struct PublishedTimes {
  std::vector<std::string> by;
  std::map<std::string, std::map<std::string, double>> step;

  template <class Visitor>
  static void describe(Visitor& key, PublishedTimes& times) {
    key.required("by", times.by, "two columns by whose cells rows are told apart");
    key.required("step", times.step,
                 "predicted step times in the set's unit: cell of the first column, then of the second");
  }
  void check() const {
    if (by.size() != 2) {
      throw FieldError{"by", "two columns, whose cells are the keys of 'step'"};
    }
  }
};

/// Another predictor's signed errors at the same points, in percent, or its times.
struct OtherPredictor {
  std::string name;
  std::string meaning;
  std::optional<std::string> step_error;
  std::optional<std::string> gpu_busy_error;
  std::optional<PublishedTimes> published;

  [[nodiscard]] bool predicts_steps() const { return step_error || published; }

  template <class Visitor>
  static void describe(Visitor& key, OtherPredictor& other) {
    key.required("name", other.name, "heading of its columns, e.g. own");
    key.required("meaning", other.meaning, "whose prediction, from what; printed under the table");
    key.optional("step_error", other.step_error, std::nullopt,
                 "column of its signed errors of step times, in percent");
    key.optional("gpu_busy_error", other.gpu_busy_error, std::nullopt, "likewise of GPU busy time");
    key.optional("published", other.published, std::nullopt,
                 "its step times, in place of step_error, where the table has no such column");
  }
  void check() const {
    if (published && step_error) {
      throw FieldError{"published", "errors of step times are in the column 'step_error' already"};
    }
  }
};

enum class ComparedQuantity : std::uint8_t { Step, GpuBusy, Kernel, Collective };

constexpr auto names_of(ComparedQuantity /*unused*/) {
  return std::to_array<EnumName<ComparedQuantity>>({{ComparedQuantity::Step, "step"},
                                                    {ComparedQuantity::GpuBusy, "gpu_busy"},
                                                    {ComparedQuantity::Kernel, "kernel"},
                                                    {ComparedQuantity::Collective, "collective"}});
}

/// The thing that a row of a set's table measures.
enum class PredictedThing : std::uint8_t { Step, Kernel, Collective };

constexpr auto names_of(PredictedThing /*unused*/) {
  return std::to_array<EnumName<PredictedThing>>({{PredictedThing::Step, "step"},
                                                  {PredictedThing::Kernel, "kernel"},
                                                  {PredictedThing::Collective, "collective"}});
}

/// Its duration.
[[nodiscard]] constexpr ComparedQuantity duration_of(PredictedThing thing) {
  switch (thing) {
    case PredictedThing::Step:
      return ComparedQuantity::Step;
    case PredictedThing::Kernel:
      return ComparedQuantity::Kernel;
    case PredictedThing::Collective:
      return ComparedQuantity::Collective;
  }
  return ComparedQuantity::Step;
}

/// A figure of error over all points (calibration/error_summary.hpp).
enum class AimedFigure : std::uint8_t { Geometric, Median, Mean, Ninetieth };

constexpr auto names_of(AimedFigure /*unused*/) {
  return std::to_array<EnumName<AimedFigure>>({{AimedFigure::Geometric, "geometric"},
                                               {AimedFigure::Median, "median"},
                                               {AimedFigure::Mean, "mean"},
                                               {AimedFigure::Ninetieth, "90th"}});
}

/// How small a figure of error should be, and what others reached.
struct ValidationAim {
  ComparedQuantity of = ComparedQuantity::Step;
  AimedFigure figure = AimedFigure::Mean;
  double below = 0;
  std::string published;

  template <class Visitor>
  static void describe(Visitor& key, ValidationAim& aim) {
    key.optional("of", aim.of, ComparedQuantity::Step, "which time");
    key.required("figure", aim.figure, "of the absolute relative errors of all points");
    key.required("below", aim.below, "what it should be below, e.g. 0.05");
    key.optional("published", aim.published, {}, "the figure that others published, in words");
  }
  void check() const {
    if (!(below > 0)) {
      throw FieldError{"below", "an error to stay below, above 0, e.g. 0.05"};
    }
  }
};

/// Groups of rows among which a user would choose, e.g. plans for one model and batch.
struct PicksSpec {
  std::vector<std::string> within;
  double close = 0.03;
  std::optional<double> share;

  template <class Visitor>
  static void describe(Visitor& key, PicksSpec& picks) {
    key.required("within", picks.within, "columns: rows with the same cells there are a group");
    key.optional("close", picks.close, 0.03,
                 "a pick that was measured slower than the group's fastest by no more than this is good");
    key.optional("share", picks.share, std::nullopt, "of groups with a good pick: what to reach, e.g. 0.9");
  }
  void check() const {
    if (within.empty()) {
      throw FieldError{"within", "the columns that tell groups apart"};
    }
    if (!(close >= 0)) {
      throw FieldError{"close", "not negative, e.g. 0.03"};
    }
    if (share && !(*share > 0 && *share <= 1)) {
      throw FieldError{"share", "above 0 and at most 1, e.g. 0.9"};
    }
  }
};

/// Values by key of a scenario (`workload.global_batch`).
using ScenarioSettings = std::map<std::string, std::string>;

struct ValidationSet {
  static constexpr const char* kConfigKind = "validation";

  std::string name;
  std::string title;
  std::string source;
  PredictedThing predicts = PredictedThing::Step;
  std::string table;
  std::map<std::string, ScenarioSettings> tables;
  Seconds unit;
  Seconds shortest;
  MeasuredColumns measured;
  std::vector<OtherPredictor> others;
  ScenarioSettings scenario;
  std::map<std::string, std::vector<std::string>> where;
  std::map<std::string, std::map<std::string, ScenarioSettings>> rows;
  std::map<std::string, std::string> copied;
  std::map<std::string, std::vector<std::string>> multiplied;
  std::vector<std::string> groups;
  std::vector<std::string> family;
  std::optional<PicksSpec> picks;
  std::vector<ValidationAim> aims;
  std::vector<std::string> notes;

  template <class Visitor>
  static void describe(Visitor& key, ValidationSet& set) {
    key.required("name", set.name, "identifier used by lockstep validate");
    key.required("title", set.title, "one line, printed above the table");
    key.required("source", set.source, "where the measurements are from, and how exact they are");
    key.optional(
        "predicts", set.predicts, PredictedThing::Step,
        "what a row is: a training step, whose keys are a scenario's; a kernel, with the keys gpu, "
        "family, type and the words of its shape (docs/learned_kernels.md); or a collective alone on "
        "the machine, with the keys cluster, collective, nodes, gpus and bytes, and those that a "
        "scenario has under 'collectives': profile, all_reduce (its algorithm), protocol, net_gdr_level, "
        "...");
    key.optional(
        "table", set.table, {},
        "file of comma-separated values, relative to the data folder or, where it is shipped, to the set");
    key.optional(
        "tables", set.tables, {},
        "several in its place, and the keys that all rows of each set; 'table' then is a column, too: "
        "the file's name, with its folder's where two files have one name");
    key.optional("unit", set.unit, Seconds{1}, "of measured durations, e.g. 1 ms");
    key.optional(
        "shortest", set.shortest, Seconds{0},
        "rows that were measured shorter are left out, and counted: where a table's times contain the "
        "host's, e.g. 500 us");
    key.required("measured", set.measured, "columns of measured durations");
    key.optional("others", set.others, {}, "other predictors to stand beside");
    key.optional("scenario", set.scenario, {}, "keys of the scenario that are the same in all rows");
    key.optional("where", set.where, {},
                 "columns, and the cells of the rows that are compared; others are left out, and counted");
    key.optional("rows", set.rows, {},
                 "what cells say of a row's scenario: column, then cell, then keys of the scenario");
    key.optional("copied", set.copied, {},
                 "columns whose cell is the value of a key of the scenario, or of several with blanks "
                 "between; an empty cell sets none");
    key.optional("multiplied", set.multiplied, {},
                 "keys of the scenario, and the columns whose cells' product is their value");
    key.optional("groups", set.groups, {},
                 "columns by whose cells errors are summarised; those of 'rows' when left out");
    key.optional("family", set.family, {},
                 "columns that say what is trained: within rows with the same cells there, the order of step "
                 "times is compared");
    key.optional("picks", set.picks, std::nullopt,
                 "groups in which the row predicted fastest is compared with the one measured fastest");
    key.optional("aims", set.aims, {},
                 "figures of error to reach, printed beside those reached; left out: a mean below 0.1");
    key.optional("notes", set.notes, {}, "what a reader of the errors must know; printed under the table");
  }

  void check() const {
    if (table.empty() == tables.empty()) {
      throw FieldError{"table", "a set compares either one 'table' or several 'tables'"};
    }
    const ComparedQuantity duration = duration_of(predicts);
    if (predicts == PredictedThing::Step && measured.timing_adds > Seconds{0}) {
      throw FieldError{"measured", "timing_adds is of sets of kernels and of collectives (predicts)"};
    }
    if (predicts != PredictedThing::Step && (!measured.step || measured.gpu_busy)) {
      throw FieldError{"measured", "of kernels and collectives there is one column of durations, 'step'"};
    }
    for (const ValidationAim& aim : aims) {
      if (aim.of != duration && !(aim.of == ComparedQuantity::GpuBusy && measured.gpu_busy)) {
        throw FieldError{"aims", "an aim is 'of' what the set predicts and measures"};
      }
    }
  }

  /// Quantities to compare, in the order in which they are printed.
  [[nodiscard]] std::vector<ComparedQuantity> quantities() const {
    std::vector<ComparedQuantity> all{duration_of(predicts)};
    if (measured.gpu_busy) {
      all.insert(all.begin(), ComparedQuantity::GpuBusy);
    }
    return all;
  }
  /// The files that it compares.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    if (!table.empty()) {
      names.push_back(table);
    }
    for (const auto& [file, settings] : tables) {
      names.push_back(file);
    }
    return names;
  }
};

}  // namespace lockstep
