#include "app/commands/compare.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "app/commands/run.hpp"
#include "app/comparison.hpp"
#include "app/interruption.hpp"
#include "app/notes.hpp"
#include "app/report/page.hpp"
#include "app/result_folder.hpp"
#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "traces/comparison/side_by_side.hpp"

namespace lockstep {

namespace {

constexpr int kMost = 1'000'000;  // ranks, or rows

KernelFamilies families_of(const CompareOptions& options) {
  if (options.families.empty()) {
    return standard_families();
  }
  const ConfigPath configs = ConfigPath::standard().beside("");
  const auto file = configs.find_or_file(KernelFamilyList::kConfigKind, options.families);
  return families_with(read_file<KernelFamilyList>(file, configs).rows);
}

constexpr const char* kJson = "comparison.json";

bool is_of_compare(const std::string& name) {
  return name == kJson || name == kReportPage;
}

std::string sentence_of(const Comparison& comparison) {
  const double a = comparison.a.profile.step, b = comparison.b.profile.step;
  const auto by_size = [](const ComparedRow& row) { return std::abs(row.difference()); };
  const auto largest = std::ranges::max_element(comparison.parts, std::ranges::less{}, by_size);
  return fmt::format("B's step takes {}, A's {}: {:+.1f} %.", to_string(Seconds{b}), to_string(Seconds{a}),
                     100 * (b / a - 1)) +
         (largest == comparison.parts.end() || largest->difference() == 0
              ? ""
              : fmt::format(" The largest difference is in {}: {} {}.", largest->what,
                            to_string(Seconds{by_size(*largest)}),
                            largest->difference() > 0 ? "more" : "less"));
}

void write_result(const Comparison& comparison, const std::string& json, ResultFolder& folder) {
  const std::string title = comparison.a.given + " and " + comparison.b.given;
  write_whole_file(folder.staged() / kJson, json);
  write_whole_file(folder.staged() / kReportPage,
                   page_html({"compare", title, sentence_of(comparison), json}));
  folder.commit();
  note("results in {}\nlook at them: {}\n", folder.path().string(), (folder.path() / kReportPage).string());
}

}  // namespace

int compare_command(const CompareOptions& options) {
  for (const std::string& run : {options.a, options.b}) {
    check_is_one_result(run, is_of_run);
    remember_input(run);
  }
  const KernelFamilies families = families_of(options);
  check_outputs({options.timeline, options.json});
  std::optional<ResultFolder> folder;
  if (!options.folder.empty()) {
    folder.emplace(options.folder, is_of_compare);
  }
  const Interruption interruption{[&folder] {
    remove_unfinished_files();
    if (folder) {
      folder->abandon();
    }
  }};
  const Comparison comparison = compare(compared_run(options.a, options.rank, families),
                                        compared_run(options.b, options.rank, families));
  if (!options.timeline.empty()) {
    comparison::write_side_by_side(comparison.a.run, comparison.b.run, options.timeline);
  }
  const std::string json = comparison_json(comparison);
  if (!options.json.empty() && options.json != "-") {
    write_whole_file(options.json, json);
  }
  if (folder) {
    write_result(comparison, json, *folder);
  }
  fmt::print("{}", options.json == "-" ? json : comparison_text(comparison, options.rows));
  return 0;
}

void add_compare_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "two runs, or a run and a profiler's timeline: what got slower, what faster");
  command->footer(
      "examples:\n"
      "  lockstep compare lockstep-out/before lockstep-out/after\n"
      "  lockstep compare profiled.pt.trace.json.gz lockstep-out/gpt2 --timeline both.json.gz");
  command
      ->add_option("A", options->a,
                   "folder of lockstep run's results, or a timeline (.json, .json.gz) of "
                   "lockstep or PyTorch's profiler")
      ->required();
  command->add_option("B", options->b, "what it is compared with")->required();
  command->add_option("-o,--output", options->folder, "folder for report.html and comparison.json");
  command->add_option("--rank", options->rank, "which rank of timelines that have several (default: 0)")
      ->check(CLI::Range(0, kMost));
  command->add_option("--rows", options->rows, "most rows of each table (default: 10)")
      ->check(CLI::Range(0, kMost));
  command->add_option("--families", options->families,
                      "your own kernel families, a name or a file (lockstep explain --in kernel_families): "
                      "asked before the standard ones");
  command->add_option("--json", options->json, "all rows as JSON; - for stdout instead of the tables");
  command->add_option("--timeline", options->timeline,
                      "one timeline with both side by side, e.g. both.json.gz");
  command->callback([options, &action] { action = [options] { return compare_command(*options); }; });
}

}  // namespace lockstep
