#include "app/commands/size.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "app/plans/plan_file.hpp"
#include "app/plans/plan_options.hpp"
#include "app/report/page.hpp"
#include "app/result_folder.hpp"
#include "app/size/size_text.hpp"
#include "base/file.hpp"
#include "scenario/grown_cluster.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/outcome.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNics = 1'000'000;    // beyond it something was mistyped
constexpr double kMostTokens = 1e18;    // likewise
constexpr std::size_t kMostSizes = 64;  // a search each

/// `15T`, `300B`, `2.5e12`: a count with K, M, B (or G) and T for thousand to million million.
double tokens_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit{end, text.data() + text.size()};
  const std::string units = "KMBT";
  const std::string known = unit == "G" || unit == "g" ? "B" : unit;
  double factor = known.empty() ? 1 : 0;
  if (known.size() == 1) {
    const auto place = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(known.front()))));
    factor = place == std::string::npos ? 0 : std::pow(1e3, static_cast<double>(place) + 1);
  }
  if (error != std::errc{} || factor == 0 || !(value * factor >= 1) || value * factor > kMostTokens) {
    throw std::invalid_argument{fmt::format(
        "--tokens {}: expected a number of tokens from 1 to 1e18, e.g. 15T, 300B or 2.5e12", text)};
  }
  return value * factor;
}

double positive(const char* option, const std::string& text, const char* example) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value)) {
    throw std::invalid_argument{
        fmt::format("{} {}: expected a number above 0, e.g. {}", option, text, example)};
  }
  return value;
}

bool is_plan_of_size(const std::string& name) {
  return name.starts_with("plan_") && name.ends_with(".yaml") && name.find("_gpus") != std::string::npos;
}

/// Names of what `size` writes into its folder.
bool is_of_size(const std::string& name) {
  return is_plan_of_size(name) || name == "size.json" || name == "size.svg" || name == kReportPage;
}

std::string plan_name(const ClusterSize& size) {
  return fmt::format("plan_{}_gpus{}.yaml", size.gpus,
                     size.nics ? fmt::format("_{}_nics", *size.nics) : std::string{});
}

void write_files(const SizeAnswer& answer, const SizeQuestion& question, const OpenedScenario& scenario,
                 const SizeOptions& options, const fs::path& folder) {
  for (const ClusterSize& size : answer.sizes) {
    if (size.plan) {
      write_whole_file(folder / plan_name(size),
                       plan_file_text(*size.evaluator, size.plan->candidate, scenario.path));
    }
  }
  Page page{"size", answer.sizes.front().evaluator->scenario().name,
            size_sentence(answer, question, options.scenario), size_json(answer, question, options.scenario)};
  page.pictures.push_back(
      {question.tokens ? "days of the training" : "tokens a second", size_svg(answer, question)});
  write_whole_file(folder / "size.json", page.data);
  write_whole_file(folder / "size.svg", page.pictures.front().svg);
  write_whole_file(folder / kReportPage, page_html(page));
}

/// @throws OutOfMemoryError where no size has room for a plan, std::invalid_argument where none has one else
[[noreturn]] void refuse(const SizeAnswer& answer) {
  const bool is_memory =
      std::ranges::all_of(answer.sizes, [](const ClusterSize& size) { return size.is_too_big; });
  if (is_memory) {
    throw OutOfMemoryError{no_size_text(answer)};
  }
  throw std::invalid_argument{no_size_text(answer)};
}

SizeQuestion question_of(const SizeOptions& options, const OpenedScenario& scenario) {
  SizeQuestion question{
      options.gpus, options.nics, options.tokens, options.most_days,
      [&options](const PlanProblem& problem) { return space_with_only(problem, options.only); }};
  if (question.most_days && !question.tokens) {
    throw std::invalid_argument{"--days needs --tokens: how much is to be trained in that time, e.g. 15T"};
  }
  if (question.gpus.empty()) {
    const int own = gpus_of_scenario(scenario.document, scenario.configs);
    question.gpus = {own, 2 * own, 4 * own};
  }
  if (question.gpus.size() * std::max<std::size_t>(question.nics.size(), 1) > kMostSizes) {
    throw std::invalid_argument{
        fmt::format("at most {} sizes can be looked at: numbers of GPUs times numbers of NICs", kMostSizes)};
  }
  return question;
}

}  // namespace

int size_command(const SizeOptions& options) {
  const Progress progress{options.quiet};
  OpenedScenario scenario = open_scenario(options.scenario, options.overrides);
  if (options.price) {
    scenario.document.set("price_per_gpu_hour", fmt::format("{}", *options.price));
  }
  const SizeQuestion question = question_of(options, scenario);
  ResultFolder folder{result_folder(options.folder, scenario.path), is_of_size};
  check_outputs({options.json});
  const PlanSearchOptions search{options.budget, options.jobs, 1, true};
  const SizeAnswer answer = size_cluster(scenario, question, search, progress);
  progress.done();
  if (!answer.best) {
    folder.abandon();
    if (answer.interruption != 0) {
      fmt::print(stderr, "stopped before a plan was found\n");
      end_by(answer.interruption);
    }
    give_json(options, size_json(answer, question, options.scenario));
    refuse(answer);
  }
  write_files(answer, question, scenario, options, folder.staged());
  folder.commit();
  give_json(options, size_json(answer, question, options.scenario));
  if (options.json != "-") {
    fmt::print("{}", size_text(answer, question, options.scenario));
  }
  if (!options.quiet) {
    fmt::print(stderr, "\nresults in {}: a plan of each size, size.json, size.svg\nlook at them: {}\n",
               folder.path().string(), (folder.path() / kReportPage).string());
  }
  if (answer.interruption != 0) {
    end_by(answer.interruption);
  }
  return kExitOk;
}

namespace {

/// Options that the command line gives as text.
struct SizeCommandLine {
  SizeOptions options;
  PlanWords words;
  std::string tokens, days, price;
};

int run_size(SizeCommandLine given) {
  SizeOptions& options = given.options;
  complete(options, given.words);
  if (!given.tokens.empty()) {
    options.tokens = tokens_of(given.tokens);
  }
  if (!given.days.empty()) {
    options.most_days = positive("--days", given.days, "30");
  }
  if (!given.price.empty()) {
    options.price = positive("--price", given.price, "2.5");
  }
  return size_command(options);
}

}  // namespace

void add_size_command(CLI::App& app, std::function<int()>& action) {
  const auto given = std::make_shared<SizeCommandLine>();
  SizeOptions& options = given->options;
  CLI::App* command = app.add_subcommand(
      "size", "how many nodes for a training: days and money for each number of GPUs, with its best plan");
  command->footer(
      "examples:\n"
      "  lockstep size llama3_8b_fsdp --tokens 15T --days 30 --price 2.5\n"
      "  lockstep size llama3_8b_fsdp --gpus 128,256,512 --tokens 15T --budget 60s\n"
      "  lockstep size my.yaml --gpus 64 --nics 1,2,4,8                what more NICs would buy");
  add_plan_question(*command, options, given->words);
  command->add_option("--nics", options.nics, "numbers of NICs of a node to look at, e.g. 1,4,8")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostNics));
  command->add_option("--tokens", given->tokens, "tokens of the whole training, e.g. 15T, 300B");
  command->add_option("--days", given->days, "days that the training may take");
  command->add_option("--price", given->price,
                      "for a GPU and hour, in any currency (default: the scenario's)");
  command->callback([given, &action] { action = [given] { return run_size(*given); }; });
}

}  // namespace lockstep
