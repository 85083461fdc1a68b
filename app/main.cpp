/// @file
/// `lockstep`: what did the user ask? Exit codes: 0 ok, 1 our bug, 2 input, 3 stalled, 4 out of memory.

#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <functional>

#include "app/command_line.hpp"
#include "app/commands/explain.hpp"
#include "app/commands/list.hpp"
#include "app/commands/run.hpp"
#include "app/commands/schema.hpp"
#include "app/commands/topology.hpp"
#include "app/commands/validate.hpp"
#include "app/memory_report.hpp"
#include "app/version.hpp"
#include "base/error.hpp"
#include "sim/stall.hpp"

namespace {

using namespace lockstep;

constexpr int kOk = 0;
constexpr int kBug = 1;
constexpr int kInput = 2;
constexpr int kStalled = 3;
constexpr int kOutOfMemory = 4;

}  // namespace

int main(int count, char** arguments) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("lockstep"));  // stdout is for results
  spdlog::set_pattern("%^%l%$: %v");
  CLI::App app{"Predicts the time of a training step on many GPUs, and shows why.", "lockstep"};
  app.footer(
      "examples:\n"
      "  lockstep list scenarios                                     questions that come with answers\n"
      "  lockstep run dlrm_mlperf_a100 -o out                        step time, why, and a timeline in out/\n"
      "  lockstep run gpt2_8xa100 --set workload.global_batch=128    the same with another batch\n"
      "  lockstep topology dgx1v --svg dgx1v.svg                     a machine: links, routes, a picture\n"
      "  lockstep explain global_batch                               what a key of a file means");
  show_examples_first(app);
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  std::function<int()> action;
  add_run_command(app, action);
  add_validate_command(app, action);
  add_topology_command(app, action);
  add_list_command(app, action);
  add_explain_command(app, action);
  add_schema_command(app, action);
  if (const int failed = parse_command_line(app, count, arguments); failed != kOk || !action) {
    return failed;
  }
  try {
    return action();
  } catch (const InputError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kInput;
  } catch (const StallError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kStalled;
  } catch (const OutOfMemoryError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kOutOfMemory;
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kInput;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lockstep has a bug, please report it: {}\n", problem.what());
    return kBug;
  }
}
