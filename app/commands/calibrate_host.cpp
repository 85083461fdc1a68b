#include "app/commands/calibrate_host.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>

#include "app/notes.hpp"
#include "app/report.hpp"
#include "app/result_folder.hpp"
#include "app/set_in_words.hpp"
#include "base/citation.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/parse_units.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/hosts/derived_host.hpp"
#include "calibration/hosts/event_cost.hpp"
#include "calibration/hosts/host_machine.hpp"
#include "calibration/hosts/host_probe.hpp"
#include "calibration/hosts/host_profile.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep {
namespace {

constexpr double kSlow = 3;  // hosts of one generation differ by 2
constexpr double kSlower = 1.4;

Seconds cost(const std::string& option, const std::string& text) {
  Seconds parsed;
  try {
    parse(text, parsed);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument{fmt::format("{} {}: {}", option, text, problem.what())};
  }
  if (parsed < Seconds{0}) {
    throw std::invalid_argument{fmt::format("{} {}: a profiler makes nothing shorter", option, text)};
  }
  return parsed;
}

/// Each as often as it was given: a file that holds several ranks is as many traces.
std::vector<std::filesystem::path> files_of(const std::vector<kineto::RecordedTrace>& traces) {
  std::vector<std::filesystem::path> files;
  std::set<std::int64_t> ranks;  // of the last file
  for (const kineto::RecordedTrace& trace : traces) {
    if (files.empty() || files.back() != trace.file || ranks.contains(trace.rank)) {
      files.emplace_back(trace.file);
      ranks.clear();
    }
    ranks.insert(trace.rank);
  }
  return files;
}

/// Whether all of them are timelines of `lockstep run`. @throws InputError where some are
bool are_simulated(const std::vector<kineto::RecordedTrace>& traces) {
  const auto simulated = std::ranges::find(traces, true, &kineto::RecordedTrace::is_simulated);
  const auto recorded = std::ranges::find(traces, false, &kineto::RecordedTrace::is_simulated);
  if (simulated == traces.end()) return false;
  if (recorded != traces.end()) {
    throw InputError{
        {simulated->file},
        fmt::format("is a timeline that Lockstep simulated, and {} was recorded: a profile of one "
                    "host has traces of one kind",
                    recorded->file)};
  }
  return true;
}

/// A profiler's cost in timelines of which @p simulated is the first.
/// @throws InputError where one was asked for
Seconds no_cost(const std::string& option, const std::string& asked_for, const std::string& standard,
                const std::string& simulated) {
  if (asked_for != standard && cost(option, asked_for) > Seconds{0}) {
    throw InputError{
        {simulated},
        fmt::format("is a timeline that Lockstep simulated: no profiler made it longer; leave {} "
                    "out",
                    option)};
  }
  return Seconds{0};
}

/// Options of the profiler that recorded more than times of the host, in words; empty: none.
/// @throws InputError unless @p are_meant
std::string observers_of(const std::vector<kineto::RecordedTrace>& traces, bool are_meant) {
  std::set<std::string> observers;
  const kineto::RecordedTrace* first = nullptr;
  for (const kineto::RecordedTrace& trace : traces) {
    first = first == nullptr && !trace.observers.empty() ? &trace : first;
    observers.insert(trace.observers.begin(), trace.observers.end());
  }
  if (first != nullptr && !are_meant) {
    throw InputError{
        {first->file},
        fmt::format(
            "the profiler recorded more than times ({}), which makes all that the host does longer, with an "
            "execution trace observer beside it several times: record without record_shapes, with_stack, "
            "profile_memory and execution_trace_observer (docs/calibration.md), or take it all the same, as "
            "derived, by --with-observers",
            fmt::join(first->observers, ", "))};
  }
  return fmt::format("{}", fmt::join(observers, ", "));
}

/// Whether the traces were simulated or recorded, and with what beside times: the profiler's costs follow.
void take_kind(const std::vector<kineto::RecordedTrace>& traces, const CalibrateHostOptions& options,
               HostProfileOptions& profile) {
  profile.simulated = are_simulated(traces);
  if (profile.simulated) {
    const CalibrateHostOptions standard;
    const std::string& first = traces.front().file;
    profile.event_cost = no_cost("--event-cost", options.event_cost, standard.event_cost, first);
    profile.call_cost = no_cost("--call-cost", options.call_cost, standard.call_cost, first);
  } else {
    profile.observers = observers_of(traces, options.with_observers);
    profile.observed = options.with_observers;
  }
  if (!options.step_time.empty()) {
    if (profile.simulated) {
      throw InputError{{traces.front().file},
                       "was simulated, without a profiler: there is no --step-time beside it"};
    }
    profile.event_cost = profile.call_cost = event_cost_of(traces, cost("--step-time", options.step_time));
    note("the profiler takes {} for each operator and call\n", to_string(profile.event_cost));
  }
}

/// On stderr, what does not come from the traces, and what is to be doubted.
void tell(const HostProfile& made, std::size_t at_full_queue, const HostProfileOptions& profile,
          bool step_time_is_known) {
  if (!made.missing.empty()) {
    note("not in the traces, taken from {}: {}\n", profile.start.name, fmt::join(made.missing, ", "));
  }
  if (at_full_queue > 0) {
    note("{} calls waited for room in a full launch queue: their lengths are left out\n", at_full_queue);
  }
  if (profile.simulated) {
    note(
        "simulated by Lockstep, without a profiler: the numbers are those of the scenario's host; all of "
        "them derived\n");
  }
  if (profile.observed) {
    note("recorded with {}: times are longer than without, by how much is not known; all of them derived\n",
         profile.observers.empty() ? "observers that the traces do not name" : profile.observers);
  }
  if (made.slower && *made.slower > kSlow) {
    note(
        "doubtful: the operators take {:.1f} times as long as {}'s (the median of those in both): a "
        "slow CPU, or an observer{}\n",
        *made.slower, profile.start.name,
        profile.observed ? "" : " that the traces do not name? (--with-observers calls all derived)");
  } else if (made.slower && *made.slower > kSlower && !profile.simulated && !profile.observed &&
             !step_time_is_known) {
    note(
        "operators take {:.1f} times as long as {}'s: a slower CPU, on which the profiler takes more "
        "than {}, too; "
        "--step-time, of a step without it, tells how much\n",
        *made.slower, profile.start.name, to_string(profile.event_cost));
  }
  if (!made.slow_calls.empty()) {
    std::vector<std::string> calls;
    for (const SlowCall& call : made.slow_calls) {
      calls.push_back(fmt::format("{} {:.1f} times", call.key, call.factor));
    }
    note(
        "doubtful: longer than {}'s are {}, operators {:.1f} times: did these calls wait, e.g. for room in a "
        "launch queue, which is seen where it holds 768 or more? a trace of a smaller batch tells\n",
        profile.start.name, fmt::join(calls, ", "), made.slower.value_or(1));
  }
}

/// Events without a time are in no sample: those around them may be longer than they were.
void warn_of_lost(const std::vector<kineto::RecordedTrace>& traces) {
  for (const kineto::RecordedTrace& trace : traces) {
    if (!trace.lost.empty()) {
      note("{}: warning: {} events whose time was lost are left out (e.g. {})\n", trace.file,
           trace.lost.size(), trace.names.text(trace.lost.front().name));
    }
  }
}

std::string name_of_profile(const CalibrateHostOptions& options) {
  if (!options.name.empty()) return options.name;
  return options.output.empty() ? "my_host" : options.output.stem().string();
}

/// A profile to its file, or stdout. @param rests_on e.g. `84 operators`
void write_profile(const std::string& text, const std::string& rests_on,
                   const std::filesystem::path& output) {
  if (output.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_whole_file(output, text);
  fmt::print("{}; written: {}; use it with   {}\n", rests_on, output.string(),
             set_in_words("host", output.string()));
}

constexpr const char* kDerivedFrom = "a100_server";  // the trace that other speeds are speeds over

void write_derived(const DerivedHost& words, const HostSpeed& speed, const HostOverheads& start,
                   const std::filesystem::path& output) {
  check_outputs({output.string()});
  write_profile(derived_host(words, speed, start),
                fmt::format("{:.2f} times {}'s speed, Python's part {:.2f} times", speed.native, start.name,
                            speed.python),
                output);
}

int calibrate_by_probe(const CalibrateHostOptions& options) {
  const ConfigPath configs = ConfigPath::standard();
  const auto start = read_file<HostOverheads>(configs.find("hosts", kDerivedFrom), configs);
  const auto probe = read_file<HostProbe>(options.probe, configs);
  const ProbedSpeed probed = probed_speed(probe, start);
  write_derived({name_of_profile(options), machine_in_words(probe), basis_in_words(probe, probed)},
                probed.speed, start, options.output);
  if (probed.operators == 0) {
    note(
        "no operator was launched: machines at one such speed differ by {:.0f} % on average. With PyTorch "
        "and a GPU the probe says more, and a trace of PyTorch's profiler the most\n",
        100 * probed.speed.machines);
  }
  return 0;
}

template <class Enum>
Enum named(const char* option, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& [value, name] : names_of(Enum{})) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  throw std::invalid_argument{fmt::format("{} '{}' is none of {}", option, text, fmt::join(names, ", "))};
}

int calibrate_by_machine(const CalibrateHostOptions& options) {
  const ConfigPath configs = ConfigPath::standard();
  const auto start = read_file<HostOverheads>(configs.find("hosts", kDerivedFrom), configs);
  HostMachine machine{.cpu = named<CpuCore>("--cpu", options.cpu), .is_virtual = options.is_virtual};
  if (options.clock_ghz > 0) machine.clock_ghz = options.clock_ghz;
  if (!options.python.empty()) machine.python = named<PythonVersion>("--python", options.python);
  const HostSpeed speed = expected_speed(machine);
  const std::string words = fmt::format(
      "{} at {} GHz{}{}", options.cpu, machine.clock_ghz.value_or(usual_clock_ghz(machine.cpu)),
      options.python.empty() ? "" : ", Python " + options.python, options.is_virtual ? ", virtual" : "");
  write_derived(
      {name_of_profile(options), words, "the middle of the machines that are known, by core and clock"},
      speed, start, options.output);
  note("not measured: machines of which as much is known differ by {:.0f} % on average\n",
       100 * speed.machines);
  return 0;
}

}  // namespace

int calibrate_host_command(const CalibrateHostOptions& options) {
  if (!options.probe.empty()) return calibrate_by_probe(options);
  if (!options.cpu.empty()) return calibrate_by_machine(options);
  if (options.traces.empty()) {
    throw std::invalid_argument{
        "calibrate host: say traces of PyTorch's profiler, or --probe FILE that tools/capture/probe_host.py "
        "wrote, or --cpu"};
  }
  const ConfigPath configs = ConfigPath::standard();
  HostProfileOptions profile;
  profile.event_cost = cost("--event-cost", options.event_cost);
  profile.call_cost = cost("--call-cost", options.call_cost);
  profile.start = read_file<HostOverheads>(configs.find_or_file("hosts", options.start), configs);
  profile.name = name_of_profile(options);
  const std::vector<kineto::RecordedTrace> traces = replay::read_windows(options.traces);
  refuse_twice(files_of(traces));
  warn_of_lost(traces);
  check_outputs({options.output.string()});
  profile.traces = cited(files_of(traces));
  take_kind(traces, options, profile);
  HostSamples samples;
  for (const kineto::RecordedTrace& trace : traces) {
    add_samples(trace, profile.event_cost, samples);
  }
  HostProfile made;
  try {
    made = host_profile(samples, profile);
  } catch (const std::invalid_argument& problem) {
    throw InputError{{traces.front().file}, problem.what()};
  }
  write_profile(made.text, plural(made.overheads.operators.size(), "operator"), options.output);
  tell(made, samples.at_full_queue, profile, !options.step_time.empty());
  return 0;
}

namespace {

/// Options that stand in place of @p traces.
void add_without_traces(CLI::App& command, CLI::Option& traces, CalibrateHostOptions& options) {
  constexpr double kMostGhz = 8;
  CLI::Option* const probe =
      command
          .add_option(
              "--probe", options.probe,
              "in place of traces: what tools/capture/probe_host.py measured there, without a GPU or with")
          ->check(CLI::ExistingFile)
          ->excludes(&traces);
  CLI::Option* const cpu =
      command
          .add_option("--cpu", options.cpu,
                      "in place of traces: the core of the CPU, e.g. sapphire_rapids, milan")
          ->excludes(&traces)
          ->excludes(probe);
  command
      .add_option("--clock-ghz", options.clock_ghz, "highest clock of one busy core; left out: the usual one")
      ->check(CLI::Range(0.5, kMostGhz))
      ->needs(cpu);
  command.add_option("--python", options.python, "version of Python there, e.g. 3.11")->needs(cpu);
  command.add_flag("--virtual", options.is_virtual, "a virtual machine")->needs(cpu);
}

}  // namespace

void add_calibrate_host(CLI::App& calibrate, std::function<int()>& action) {
  const auto options = std::make_shared<CalibrateHostOptions>();
  CLI::App* command = calibrate.add_subcommand(
      "host",
      "what your CPU spends on operators and launches, from traces of PyTorch's profiler or from "
      "a probe of half a minute");
  command->footer(
      "examples:\n"
      "  lockstep calibrate host traces/ -o my_host.yaml\n"
      "  python3 tools/capture/probe_host.py -o probe.json\n"
      "  lockstep calibrate host --probe probe.json -o my_host.yaml\n"
      "  lockstep calibrate host --cpu milan --clock-ghz 3.5 --python 3.10 -o my_host.yaml\n"
      "  lockstep run gpt2_8xa100 --set host=my_host.yaml");
  CLI::Option* const traces =
      command
          ->add_option("TRACES", options->traces, "Kineto files or folders of them, of any jobs on that host")
          ->check(CLI::ExistingPath);
  add_without_traces(*command, *traces, *options);
  command->add_option("-o,--output", options->output, "the profile, as YAML; stdout if left out");
  command->add_option("--name", options->name, "of the profile; left out: that of the output file");
  command->add_option("--start", options->start, "host whose numbers stand in for what no trace shows")
      ->capture_default_str();
  CLI::Option* const event_cost =
      command
          ->add_option("--event-cost", options->event_cost,
                       "host time that the profiler adds for each operator and call")
          ->capture_default_str();
  CLI::Option* const call_cost =
      command->add_option("--call-cost", options->call_cost, "what it adds to the length of a call")
          ->capture_default_str();
  command
      ->add_option(
          "--step-time", options->step_time,
          "of a step that the host limits, timed without the profiler, e.g. 23.6ms: tells both costs")
      ->excludes(event_cost)
      ->excludes(call_cost);
  command->add_flag(
      "--with-observers", options->with_observers,
      "take traces with shapes, stacks or memory recorded, whose host times are too long, as derived");
  command->callback([options, &action] { action = [options] { return calibrate_host_command(*options); }; });
}

}  // namespace lockstep
