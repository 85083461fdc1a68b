#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenario/outcome.hpp"

namespace lockstep {

/// The result of one point, as its file in the folder of the sweep holds it.
struct PointRecord {
  std::string key;
  Outcome outcome;
  std::string metrics;    ///< metrics.json of the point, as text; empty where it failed
  std::string effective;  ///< its configuration, as YAML; likewise
};

/// One line of the results; what is not known is not there.
struct SweepRow {
  std::vector<std::string> labels;  ///< by column of the plan
  std::string key;
  Outcome outcome;
  std::optional<double> step_time;    ///< s
  std::optional<double> band_faster;  ///< Band, of the step time
  std::optional<double> band_slower;
  std::optional<double> ranks;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  std::optional<double> mfu;
  std::optional<double> memory_peak;  ///< bytes, of the fullest GPU
  std::optional<double> cost;         ///< of a million tokens, or samples where cost_is_of_tokens is false
  bool cost_is_of_tokens = false;
  std::string bottleneck;

  [[nodiscard]] bool is_done() const { return outcome.exit_code == kExitOk; }
};

/// True for an end that the same point would meet again: an answer, a wrong input, a stall. What was killed,
/// or met a bug, is tried again.
[[nodiscard]] bool is_final(int exit_code);

/// Folder of a sweep's points: `points/KEY.json`, with `KEY.yaml`, its effective configuration, and
/// `KEY.claim` while a process simulates it.
[[nodiscard]] std::filesystem::path points_folder(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path record_path(const std::filesystem::path& folder, const std::string& key);

/// Writes the configuration of a point that is done, then its record, each whole or not at all. @throws
/// InputError where it cannot be written
void write_record(const std::filesystem::path& folder, const PointRecord& record);

/// The record of a point; std::nullopt where it is not done, or the record is damaged.
[[nodiscard]] std::optional<SweepRow> read_row(const std::filesystem::path& folder, const std::string& key);

}  // namespace lockstep
