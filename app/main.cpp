/// @file
/// `lockstep`: what did the user ask? Exit codes: 0 ok, 1 our bug, 2 input, 3 stalled, 4 out of the simulated
/// machine's memory, 5 out of this one's.

#include <fmt/core.h>
#include <jemalloc/jemalloc.h>
#include <sys/resource.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <new>
#include <system_error>

#include "app/command_line.hpp"
#include "app/commands/calibrate.hpp"
#include "app/commands/compare.hpp"
#include "app/commands/explain.hpp"
#include "app/commands/export.hpp"
#include "app/commands/generate.hpp"
#include "app/commands/import.hpp"
#include "app/commands/list.hpp"
#include "app/commands/manual.hpp"
#include "app/commands/replay.hpp"
#include "app/commands/run.hpp"
#include "app/commands/schedule.hpp"
#include "app/commands/schema.hpp"
#include "app/commands/search.hpp"
#include "app/commands/search_plans.hpp"
#include "app/commands/size.hpp"
#include "app/commands/stragglers.hpp"
#include "app/commands/sweep.hpp"
#include "app/commands/synth.hpp"
#include "app/commands/topology.hpp"
#include "app/commands/validate.hpp"
#include "app/commands/view.hpp"
#include "app/import_meant.hpp"
#include "app/process_limits.hpp"
#include "app/version.hpp"
#include "scenario/outcome.hpp"

/// Options of jemalloc, which it reads by this name before main(). Memory comes in huge pages where Linux
/// lends them (`transparent_hugepage` at `madvise` or `always`). With small ones a third of a large run is
/// page faults.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
const char* malloc_conf = "thp:always,metadata_thp:auto,narenas:8";

namespace {

/// Makes jemalloc's arenas under `ulimit -v`, while a lack of memory can be told. A thread that cannot make
/// its own later ends the process by SIGSEGV (jemalloc 5.3). All of them take 5 ms.
void make_arenas_under_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return;
  }
  unsigned first = 0;
  unsigned arenas = 0;
  std::size_t size = sizeof first;
  const bool is_there = mallctl("thread.arena", &first, &size, nullptr, 0) == 0 &&
                        mallctl("opt.narenas", &arenas, &size, nullptr, 0) == 0;
  for (unsigned arena = arenas; is_there && arena-- > 0;) {  // the first is taken again in the end
    if (mallctl("thread.arena", nullptr, nullptr, &arena, sizeof arena) != 0) {
      std::get_new_handler()();
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  using namespace lockstep;
  prepare_process();
  make_arenas_under_limit();
  CLI::App app{"Predicts the time of a training step on many GPUs, and shows why.", "lockstep"};
  app.footer(
      "examples:\n"
      "  lockstep list scenarios                                     questions that come with answers\n"
      "  lockstep run dlrm_mlperf_a100 -o out                        step time, why, and a timeline in out/\n"
      "  lockstep run gpt2_8xa100 --set workload.global_batch=128    the same with another batch\n"
      "  lockstep sweep how_many_nics -o nics                        many of them: a table, plots, the best\n"
      "  lockstep search dlrm_nvswitch                               where embedding tables should go\n"
      "  lockstep topology dgx1v --svg dgx1v.svg                     a machine: links, routes, a picture\n"
      "  lockstep explain global_batch                               what a key of a file means");
  show_examples_first(app);
  add_version(app);
  app.require_subcommand(1);
  std::function<int()> action;
  add_run_command(app, action);
  add_sweep_command(app, action);
  add_schedule_command(app, action);
  add_export_command(app, action);
  add_generate_command(app, action);
  add_compare_command(app, action);
  add_view_command(app, action);
  add_replay_command(app, action);
  add_import_command(app, action);
  add_stragglers_command(app, action);
  add_synth_command(app, action);
  add_plan_command(app, action);
  add_size_command(app, action);
  add_search_command(app, action);
  add_validate_command(app, action);
  add_calibrate_command(app, action);
  add_topology_command(app, action);
  add_list_command(app, action);
  add_explain_command(app, action);
  add_schema_command(app, action);
  add_manual_commands(app, action);
  if (const int failed = parse_command_line(app, count, arguments); failed != kExitOk || !action) {
    return failed;
  }
  const Outcome outcome = outcome_of([&action, &app] {
    const bool imports = app.got_subcommand("import");  // its messages are about such files
    const int code = imports ? action() : naming_import(action);
    if (std::fflush(stdout) != 0) {
      throw std::system_error{errno, std::generic_category(), "the answer cannot be written"};
    }
    return code;
  });
  if (!outcome.message.empty()) {
    std::fputs((outcome.message + "\n").c_str(), stderr);  // where nobody can be told, the exit code stays
  }
  return outcome.exit_code;
}
