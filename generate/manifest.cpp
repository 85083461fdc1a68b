#include "generate/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::generate {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLicence =
    "The sources beside this file are Lockstep's, under its licence. Nothing of the recorded program is in "
    "them.";

Json json_of(const Totals& totals) {
  return {{"launches", totals.launches},         {"kernel_seconds", totals.kernel_seconds},
          {"kernel_bytes", totals.kernel_bytes}, {"kernel_flops", totals.kernel_flops},
          {"collectives", totals.collectives},   {"collective_bytes", totals.collective_bytes},
          {"step_seconds", totals.step_seconds}};
}

/// Launches of each kernel of each program in a step, over all ranks.
std::vector<std::vector<std::uint64_t>> launches_of(const benchmark::Table& table) {
  std::vector<std::vector<std::uint64_t>> counts;
  for (const benchmark::Program& program : table.programs) {
    counts.emplace_back(program.kernels.size(), 0);
  }
  for (const benchmark::Rank& rank : table.ranks) {
    for (const benchmark::Thread& thread : table.programs[rank.program].threads) {
      for (const benchmark::Instruction& i : thread.instructions) {
        if (i.op == benchmark::Opcode::Launch) {
          ++counts[rank.program].at(i.per_rank ? rank.kernel_slots.at(i.operand) : i.operand);
        }
      }
    }
  }
  return counts;
}

Json kernels_json(const benchmark::Table& table) {
  Json list = Json::array();
  const auto launches = launches_of(table);
  for (std::size_t program = 0; program < table.programs.size(); ++program) {
    for (std::size_t i = 0; i < table.programs[program].kernels.size(); ++i) {
      const benchmark::Kernel& kernel = table.programs[program].kernels[i];
      Json calls = Json::array();
      for (const benchmark::Call& call : kernel.calls) {
        Json sizes = Json::object();
        for (const auto& [name, value] : call.fields) {
          sizes[name] = value;
        }
        calls.push_back({{"work", call.work},
                         {"type", call.type},
                         {"sizes", std::move(sizes)},
                         {"tables", call.tables.size()}});
      }
      list.push_back({{"program", program},
                      {"source", kernel.name},
                      {"family", kernel.family},
                      {"backend", kernel.backend},
                      {"time_is", kernel.recorded ? "recorded" : "modelled"},
                      {"launches", launches[program][i]},
                      {"us", 1e6 * kernel.seconds},
                      {"bytes", kernel.bytes},
                      {"flops", kernel.flops},
                      {"calls", std::move(calls)}});
    }
  }
  return list;
}

Json coverage_json(const Coverage& coverage) {
  std::vector<double> launches, seconds;
  for (const CoverageShare& share : coverage.by_backend) {
    launches.push_back(static_cast<double>(share.launches));
    seconds.push_back(share.seconds);
  }
  const std::vector<double> of_launches = percentages(launches), of_seconds = percentages(seconds);
  Json made = Json::object();
  for (std::size_t i = 0; i < kBackends.size(); ++i) {
    made[std::string{kBackends[i]}] = {{"launches", coverage.by_backend[i].launches},
                                       {"launches_percent", of_launches[i]},
                                       {"seconds", coverage.by_backend[i].seconds},
                                       {"seconds_percent", of_seconds[i]}};
  }
  Json uncovered = Json::array();
  for (const UncoveredKernels& kernels : coverage.uncovered) {
    uncovered.push_back({{"source", kernels.name},
                         {"family", kernels.family},
                         {"launches", kernels.share.launches},
                         {"seconds", kernels.share.seconds}});
  }
  made["not_by_what_it_does"] = std::move(uncovered);
  return made;
}

Json refined_json(const std::vector<RefinedKernel>& refined) {
  Json list = Json::array();
  for (const RefinedKernel& kernel : refined) {
    list.push_back({{"program", kernel.program},
                    {"kernel", kernel.kernel},
                    {"source", kernel.name},
                    {"expected_us", 1e6 * kernel.expected},
                    {"measured_us", 1e6 * kernel.measured},
                    {"too_slow", kernel.is_too_slow}});
  }
  return list;
}

}  // namespace

MemoryFacts memory_of(const Benchmark& benchmark) {
  MemoryFacts made;
  for (const MemoryPlan& plan : benchmark.memory) {
    if (plan.bytes > made.planned) {
      made = {plan.storages, plan.bytes, plan.allocator};
    }
  }
  return made;
}

Totals totals_of(const benchmark::Table& table) {
  Totals made;
  const auto launches = launches_of(table);
  for (std::size_t program = 0; program < table.programs.size(); ++program) {
    for (std::size_t i = 0; i < launches[program].size(); ++i) {
      const benchmark::Kernel& kernel = table.programs[program].kernels[i];
      const auto times = static_cast<double>(launches[program][i]);
      made.launches += launches[program][i];
      made.kernel_seconds += times * kernel.seconds;
      made.kernel_bytes += times * kernel.bytes;
      made.kernel_flops += times * kernel.flops;
    }
  }
  for (const benchmark::Rank& rank : table.ranks) {
    const benchmark::Program& program = table.programs[rank.program];
    for (const benchmark::Thread& thread : program.threads) {
      for (const benchmark::Instruction& i : thread.instructions) {
        if (i.op == benchmark::Opcode::Collective) {
          ++made.collectives;
          made.collective_bytes +=
              program.collectives.at(i.per_rank ? rank.collective_slots.at(i.operand) : i.operand).bytes;
        }
      }
    }
  }
  return made;
}

std::string manifest_json(const benchmark::Table& table, const Coverage& coverage,
                          const ManifestFacts& facts) {
  Json made = {{"format", "lockstep-benchmark 2"}, {"target", facts.target}};
  made["licence"] = kLicence;
  made["seed"] = table.seed;
  made["ranks"] = table.ranks.size();
  made["source"] = json_of(facts.source);
  Totals program = totals_of(table);
  program.step_seconds = facts.simulated_step;
  made["program"] = json_of(program);
  made["coverage"] = coverage_json(coverage);
  if (facts.memory.storages > 0) {
    made["memory"] = {{"storages", facts.memory.storages},
                      {"planned_bytes", facts.memory.planned},
                      {"allocator_bytes", facts.memory.allocator}};
  }
  if (!facts.refined.empty()) {
    made["refined"] = refined_json(facts.refined);
  }
  made["kernels"] = kernels_json(table);
  return made.dump(1) + "\n";
}

namespace {

/// One of the two sums in a manifest: `source`, `program`.
Totals read_totals(const std::filesystem::path& manifest, const char* of) {
  const std::string text = read_whole_file(manifest);
  try {
    const Json sums = Json::parse(text).at(of);
    Totals made;
    made.launches = sums.at("launches").get<std::uint64_t>();
    made.collectives = sums.at("collectives").get<std::uint64_t>();
    made.kernel_seconds = sums.at("kernel_seconds").get<double>();
    made.kernel_bytes = sums.at("kernel_bytes").get<double>();
    made.kernel_flops = sums.at("kernel_flops").get<double>();
    made.collective_bytes = sums.at("collective_bytes").get<double>();
    made.step_seconds = sums.at("step_seconds").get<double>();
    return made;
  } catch (const nlohmann::json::exception& problem) {
    throw InputError{{manifest.string()},
                     fmt::format("this is no manifest of 'lockstep generate': {}", problem.what())};
  }
}

}  // namespace

Coverage read_coverage(const std::filesystem::path& manifest) {
  const std::string text = read_whole_file(manifest);
  try {
    const Json written = Json::parse(text).at("coverage");
    const auto share_of = [](const Json& json) {
      return CoverageShare{json.at("launches").get<std::uint64_t>(), json.at("seconds").get<double>()};
    };
    Coverage made;
    for (std::size_t i = 0; i < kBackends.size(); ++i) {
      made.by_backend[i] = share_of(written.at(std::string{kBackends[i]}));
      made.all.launches += made.by_backend[i].launches;
      made.all.seconds += made.by_backend[i].seconds;
    }
    for (const Json& kernels : written.at("not_by_what_it_does")) {
      made.uncovered.push_back({kernels.at("source").get<std::string>(),
                                kernels.at("family").get<std::string>(), share_of(kernels)});
    }
    return made;
  } catch (const nlohmann::json::exception& problem) {
    throw InputError{{manifest.string()},
                     fmt::format("this is no manifest of 'lockstep generate': {}", problem.what())};
  }
}

Totals read_source_totals(const std::filesystem::path& manifest) {
  return read_totals(manifest, "source");
}

double read_program_step(const std::filesystem::path& manifest) {
  return read_totals(manifest, "program").step_seconds;
}

}  // namespace lockstep::generate
