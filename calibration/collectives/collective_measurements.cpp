#include "calibration/collectives/collective_measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "calibration/csv_table.hpp"

namespace lockstep {
namespace {

struct BenchmarkProgram {
  std::string_view name;
  CollectiveKind kind;
};

/// Programs of nccl-tests by name; the names are also in the CSV.
constexpr std::array kPrograms{
    BenchmarkProgram{"all_reduce", CollectiveKind::AllReduce},
    BenchmarkProgram{"reduce_scatter", CollectiveKind::ReduceScatter},
    BenchmarkProgram{"all_gather", CollectiveKind::AllGather},
    BenchmarkProgram{"alltoall", CollectiveKind::AllToAll},
    BenchmarkProgram{"all_to_all", CollectiveKind::AllToAll},
    BenchmarkProgram{"broadcast", CollectiveKind::Broadcast},
    BenchmarkProgram{"reduce", CollectiveKind::Reduce},
};

std::string_view program_of(CollectiveKind kind) {
  return std::ranges::find(kPrograms, kind, &BenchmarkProgram::kind)->name;
}

constexpr int kMostGpus = 1'000'000;

int count_at(const CsvTable& table, std::size_t row, const char* column) {
  const double value = table.number(row, column);
  if (!(value >= 1 && value == std::floor(value) && value <= kMostGpus)) {
    table.complain(row, fmt::format("{}: {} is not a whole number from 1 to {}", column, value, kMostGpus));
  }
  return static_cast<int>(value);
}

double positive_at(const CsvTable& table, std::size_t row, const char* column) {
  const double value = table.number(row, column);
  if (!(value > 0)) {
    table.complain(row, fmt::format("{}: {} is not greater than 0", column, value));
  }
  return value;
}

/// The number of the run, among those of one file: from @p first on.
std::size_t run_named(const std::string& name, std::size_t first, std::vector<std::string>& runs) {
  const auto found = std::find(runs.begin() + static_cast<std::ptrdiff_t>(first), runs.end(), name);
  if (found == runs.end()) {
    runs.push_back(name);
    return runs.size() - 1;
  }
  return static_cast<std::size_t>(found - runs.begin());
}

void check_group(const CsvTable& table, std::size_t row, const CollectiveMeasurement& measured) {
  if (const std::string wrong = wrong_with_group(measured.nodes, measured.gpus_per_node); !wrong.empty()) {
    table.complain(row, wrong);
  }
}

/// A row of lockstep-measure's collective.csv (docs/measuring.md); nothing for one in place, or without a
/// model.
std::optional<CollectiveMeasurement> measured_row(const CsvTable& table, std::size_t row, int gpus) {
  const auto kind = nccl_tests_kind(table.cell(row, "operation"));
  if (!kind || table.cell(row, "in_place") == "1") {
    return std::nullopt;
  }
  const int ranks = count_at(table, row, "ranks");
  if (ranks > gpus) {
    table.complain(
        row, fmt::format("{} ranks of processes with {} GPUs: the table does not say on which nodes; use "
                         "a log of nccl-tests",
                         ranks, gpus));
  }
  return CollectiveMeasurement{*kind,
                               1,
                               ranks,
                               Bytes{positive_at(table, row, "bytes")},
                               Seconds{positive_at(table, row, "median_us") * 1e-6},
                               0};
}

/// How many GPUs the process had, as the table's comments say.
int gpus_of(const CsvTable& table, const std::filesystem::path& file) {
  const std::string text = table.fact("gpus");
  int gpus = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), gpus);
  if (failure != std::errc{} || gpus < 1) {
    throw InputError{{file.string()},
                     "a table of lockstep-measure has a line '# gpus: NUMBER'; this one has not"};
  }
  return gpus;
}

std::string no_collective(const std::string& name) {
  if (name == "collective") {
    return "a second header: files that were joined have to be given one by one";
  }
  std::vector<std::string> known;
  for (const BenchmarkProgram& program : kPrograms) {
    known.emplace_back(program.name);
  }
  return fmt::format("'{}' is none of nccl-tests' collectives that are modelled{}", name,
                     did_you_mean(name, known));
}

}  // namespace

std::optional<CollectiveKind> nccl_tests_kind(std::string_view program) {
  constexpr std::string_view kSuffix = "_perf";
  if (program.ends_with(kSuffix)) {
    program.remove_suffix(kSuffix.size());
  }
  const auto* const found = std::ranges::find(kPrograms, program, &BenchmarkProgram::name);
  return found == kPrograms.end() ? std::nullopt : std::optional{found->kind};
}

std::string wrong_with_group(int nodes, int gpus_per_node) {
  const std::int64_t gpus = std::int64_t{nodes} * gpus_per_node;
  return gpus >= 2 && gpus <= kMostGpus
             ? std::string{}
             : fmt::format("a collective has 2 to {} GPUs, not {}", kMostGpus, gpus);
}

std::string collective_csv(const CollectiveMeasurements& measurements) {
  std::string text = "collective,nodes,gpus_per_node,bytes,time_us,run\n";
  for (const CollectiveMeasurement& row : measurements.rows) {
    text += fmt::format("{},{},{},{:.0f},{:.8g},\"{}\"\n", program_of(row.kind), row.nodes, row.gpus_per_node,
                        row.size.in_base_units(), row.time.in_base_units() * 1e6, measurements.runs[row.run]);
  }
  return text;
}

CollectiveMeasurements read_collective_csv(const std::vector<std::filesystem::path>& files) {
  CollectiveMeasurements all;
  for (const auto& file : files) {
    const CsvTable table = CsvTable::from_file(file);
    const std::size_t first = all.runs.size();
    if (table.has("operation")) {  // lockstep-measure's
      const int gpus = gpus_of(table, file);
      for (std::size_t row = 0; row < table.rows(); ++row) {
        if (auto measured = measured_row(table, row, gpus)) {
          check_group(table, row, *measured);
          measured->run = run_named(fmt::format("{}: {}, {} GPUs", file.filename().string(),
                                                table.cell(row, "operation"), measured->gpus_per_node),
                                    first, all.runs);
          all.rows.push_back(*measured);
        } else {
          ++all.left_out;
        }
      }
      continue;
    }
    if (!table.has("collective")) {
      throw InputError{{file.string()},
                       "no table of collectives: it has neither a column 'collective' (lockstep calibrate "
                       "import) nor 'operation' (collective.csv of lockstep-measure); tables of kernels are "
                       "imported with --gpu"};
    }
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string& name = table.cell(row, "collective");
      const auto kind = nccl_tests_kind(name);
      if (!kind) {
        table.complain(row, no_collective(name));
      }
      all.rows.push_back({*kind, count_at(table, row, "nodes"), count_at(table, row, "gpus_per_node"),
                          Bytes{positive_at(table, row, "bytes")},
                          Seconds{positive_at(table, row, "time_us") * 1e-6},
                          run_named(table.cell(row, "run"), first, all.runs)});
      check_group(table, row, all.rows.back());
    }
  }
  return all;
}

}  // namespace lockstep
