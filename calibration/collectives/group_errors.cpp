#include "calibration/collectives/group_errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

std::string to_string(const MeasuredGroup& group) {
  return fmt::format("{}, {} x {}", to_string(group.kind), group.nodes, group.gpus_per_node);
}

MeasuredGroup group_of(const CollectiveMeasurement& row) {
  return {row.kind, row.nodes, row.gpus_per_node};
}

double error_of(const CollectiveMeasurements& measurements, const FittedRow& row) {
  return row.predicted / measurements.rows[row.measurement].time - 1;
}

std::map<MeasuredGroup, GroupErrors> errors_by_group(const CollectiveMeasurements& measurements,
                                                     const CollectiveFit& fit, Bytes from) {
  std::map<MeasuredGroup, GroupErrors> groups;
  for (const FittedRow& row : fit.rows) {
    const CollectiveMeasurement& measured = measurements.rows[row.measurement];
    if (measured.size >= from) {
      GroupErrors& errors = groups[group_of(measured)];
      (row.held_out ? errors.held_out : errors.seen).push_back(error_of(measurements, row));
    }
  }
  return groups;
}

std::vector<double> held_out_errors(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::vector<double> errors;
  for (const FittedRow& row : fit.rows) {
    if (row.held_out && measurements.rows[row.measurement].size >= kSmallMessages) {
      errors.push_back(error_of(measurements, row));
    }
  }
  return errors;
}

std::vector<double> plan_errors(const CollectiveMeasurements& measurements, const CollectiveFit& fit,
                                const FittedNumber& number) {
  std::vector<double> errors;
  for (const std::size_t i : number.rows) {
    const FittedRow& row = fit.rows[i];
    const CollectiveMeasurement& measured = measurements.rows[row.measurement];
    const Seconds planned = row.predicted - fit.runs[measured.run].added;
    if (row.held_out && planned > Seconds{0}) {
      errors.push_back((row.predicted - measured.time) / planned);
    }
  }
  return errors;
}

}  // namespace lockstep
