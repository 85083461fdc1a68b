#pragma once

/// @file
/// What `lockstep compare` finds out about two runs.

#include <filesystem>
#include <string>
#include <vector>

#include "traces/comparison/recorded_run.hpp"
#include "traces/comparison/run_profile.hpp"

namespace lockstep {

/// A row of a table: seconds of a step in both runs.
struct ComparedRow {
  std::string what;
  comparison::Amount a, b;
  [[nodiscard]] double difference() const { return b.seconds - a.seconds; }
};

/// One side: a result folder of `lockstep run`, or a timeline file.
struct ComparedRun {
  std::string given;  ///< by the user
  comparison::RecordedRun run;
  comparison::RunProfile profile;
  comparison::Amounts critical_path;  ///< of the last step; empty for a timeline alone
};

struct Comparison {
  ComparedRun a, b;
  std::vector<ComparedRow> parts;  ///< of the step's GPU time, in a fixed order: they add up to the step
  std::vector<ComparedRow> families, operators, kernels, critical_path;  ///< largest difference first
};

/// @param given a folder with timeline.json.gz (or timeline.rankN.json.gz), or a .json or .json.gz
/// @throws InputError where there is none, or as comparison::read_run()
[[nodiscard]] ComparedRun compared_run(const std::string& given, int rank,
                                       const KernelFamilies& families = standard_families());

[[nodiscard]] Comparison compare(ComparedRun a, ComparedRun b);

/// @param most rows of each table
[[nodiscard]] std::string comparison_text(const Comparison& comparison, std::size_t most);
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

}  // namespace lockstep
