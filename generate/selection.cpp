#include "generate/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "generate/coverage.hpp"

namespace lockstep::generate {
namespace {

constexpr const char* kCommunication = "communication";

bool contains_one(const std::string& text, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return text.find(pattern) != std::string::npos; });
}

/// Rewrites one Program; what is kept is counted.
class PartOfProgram {
 public:
  PartOfProgram(const Program& source, const std::vector<BenchmarkKernel>& kernels,
                const Selection& selection)
      : source_{source}, kernels_{kernels}, selection_{selection} {}

  Program write() {
    Program made = source_;
    for (std::size_t i = 0; i < made.threads.size(); ++i) {
      made.threads[i].instructions = part_of(source_.threads[i].instructions);
    }
    return made;
  }
  [[nodiscard]] std::size_t kept() const { return kept_; }

 private:
  std::vector<Instruction> part_of(const std::vector<Instruction>& code) {
    std::vector<Instruction> made;
    std::vector<bool> open;  // ranges, whether they are meant
    std::map<std::uint8_t, Instruction> lags;
    for (Instruction i : code) {
      if (i.op == Opcode::RangeBegin) {
        open.push_back(selection_.range.empty() ||
                       source_.names[i.operand].find(selection_.range) != std::string::npos);
      }
      const bool is_inside = selection_.range.empty() || std::ranges::find(open, true) != open.end();
      if (i.op == Opcode::RangeEnd) {
        open.pop_back();
      }
      if (!is_inside || !selection_.host) {
        i.lead = i.op == Opcode::StartLag ? i.lead : 0;
        i.cost = i.op == Opcode::StartLag ? i.cost : 0;
      }
      add(i, is_inside, lags, made);
    }
    return made;
  }

  void add(const Instruction& i, bool is_inside, std::map<std::uint8_t, Instruction>& lags,
           std::vector<Instruction>& made) {
    if (i.op == Opcode::StartLag) {
      lags[i.stream] = i;
      return;
    }
    const bool is_work = i.op == Opcode::Launch || i.op == Opcode::Collective;
    if (is_work && !(is_inside && is_meant(i))) {
      lags.erase(i.stream);
      spend(i, made);
      return;
    }
    if (is_work) {
      ++kept_;
      if (const auto lag = lags.find(i.stream); lag != lags.end()) {
        made.push_back(lag->second);
        lags.erase(lag);
      }
    }
    const bool waits = i.op == Opcode::WaitEvent || i.op == Opcode::WaitStream || i.op == Opcode::WaitDevice;
    const bool only_time = i.op == Opcode::HostWork && !(i.lead > 0) && !(i.cost > 0);
    if (!(waits && !is_inside) && !only_time) {
      made.push_back(i);
    }
  }

  /// The host time of a launch that is left out: it becomes the start of what follows.
  static void spend(const Instruction& left_out, std::vector<Instruction>& made) {
    if (left_out.lead > 0 || left_out.cost > 0) {
      made.push_back({.op = Opcode::HostWork, .operand = 0, .lead = left_out.lead, .cost = left_out.cost});
    }
  }

  [[nodiscard]] bool is_meant(const Instruction& i) const {
    if (!selection_.stream.empty() &&
        source_.streams[i.stream].find(selection_.stream) == std::string::npos) {
      return false;
    }
    if (i.op == Opcode::Collective) {
      // Calls that differ by rank share one kind: all members of a group are kept or all left out.
      const CollectiveKind kind = source_.collectives[i.per_rank ? 0 : i.operand].kind;
      return selection_.communication &&
             (selection_.only.empty() || contains_one(to_string(kind), selection_.only)) &&
             (selection_.families.empty() || names_family(kCommunication));
    }
    const BenchmarkKernel& kernel = kernels_[i.per_rank ? 0 : i.operand];
    return selection_.compute &&
           (selection_.only.empty() || contains_one(kernel.name, selection_.only) ||
            contains_one(kernel.family, selection_.only)) &&
           (selection_.families.empty() || names_family(kernel.family));
  }

  [[nodiscard]] bool names_family(const std::string& family) const {
    return std::ranges::find(selection_.families, family) != selection_.families.end();
  }

  const Program& source_;
  const std::vector<BenchmarkKernel>& kernels_;
  const Selection& selection_;
  std::size_t kept_ = 0;
};

/// Some of the names that there are, for a message.
std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> shown{
      names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(kMost, names.size())))};
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kMost ? ", ..." : "");
}

[[noreturn]] void nothing_left(const Benchmark& benchmark, const Selection& selection) {
  std::set<std::string> families{kCommunication}, ranges, streams;
  for (std::size_t i = 0; i < benchmark.job.programs.size(); ++i) {
    const Program& program = *benchmark.job.programs[i];
    ranges.insert(program.names.begin(), program.names.end());
    streams.insert(program.streams.begin(), program.streams.end());
    for (const BenchmarkKernel& kernel : benchmark.kernels[i]) {
      families.insert(kernel.family);
    }
  }
  const std::string have = !selection.range.empty() ? fmt::format("there are ranges {}", some_of(ranges))
                           : !selection.stream.empty()
                               ? fmt::format("there are streams {}", some_of(streams))
                               : fmt::format("there are families {}", some_of(families));
  throw std::invalid_argument{fmt::format("nothing of the job is left; {}", have)};
}

}  // namespace

void select(Benchmark& benchmark, const Selection& selection) {
  std::size_t kept = 0;
  std::vector<std::shared_ptr<const Program>> parts;
  for (std::size_t i = 0; i < benchmark.job.programs.size(); ++i) {
    PartOfProgram part{*benchmark.job.programs[i], benchmark.kernels[i], selection};
    Program program = part.write();
    if (program.names.empty()) {
      program.names.emplace_back("left out");
    }
    parts.push_back(std::make_shared<const Program>(std::move(program)));
    kept += part.kept();
  }
  if (kept == 0) {
    nothing_left(benchmark, selection);
  }
  benchmark.job.programs = std::move(parts);
}

void fill(Benchmark& benchmark, Fill how) {
  if (how == Fill::Busy) {
    return;
  }
  if (how == Fill::Error) {
    const Coverage coverage = coverage_of(benchmark);
    if (!coverage.uncovered.empty()) {
      const UncoveredKernels& longest = coverage.uncovered.front();
      throw std::invalid_argument{
          fmt::format("{} kinds of kernels are not reproduced by what they do, {:.1f} % of the kernel time; "
                      "the longest is "
                      "'{}' of family '{}', {} times a step; --fill busy holds the GPU for as long",
                      coverage.uncovered.size(), 100 * (1 - coverage.reproduced()), longest.name,
                      longest.family, longest.share.launches)};
    }
    return;
  }
  for (std::size_t i = 0; i < benchmark.job.programs.size(); ++i) {
    Program program = *benchmark.job.programs[i];
    for (std::size_t kernel = 0; kernel < benchmark.kernels[i].size(); ++kernel) {
      if (benchmark.kernels[i][kernel].backend == Backend::Busy) {
        benchmark.kernels[i][kernel].backend = Backend::Skipped;
        program.kernels[kernel].work = Timed{Seconds{0}};
      }
    }
    benchmark.job.programs[i] = std::make_shared<const Program>(std::move(program));
  }
}

void obfuscate(Benchmark& benchmark) {
  std::map<std::string, std::string> kernels;
  for (std::size_t i = 0; i < benchmark.job.programs.size(); ++i) {
    Program program = *benchmark.job.programs[i];
    const auto number = [](std::vector<std::string>& names, const char* what) {
      for (std::size_t n = 0; n < names.size(); ++n) {
        names[n] = fmt::format("{} {}", what, n);
      }
    };
    number(program.streams, "s");
    number(program.groups, "g");
    number(program.names, "r");
    for (std::size_t n = 0; n < program.threads.size(); ++n) {
      program.threads[n].name = fmt::format("t {}", n);
    }
    for (std::size_t n = 0; n < benchmark.kernels[i].size(); ++n) {
      BenchmarkKernel& kernel = benchmark.kernels[i][n];
      const auto [known, is_new] = kernels.try_emplace(kernel.name, fmt::format("k {}", kernels.size()));
      kernel.name = known->second;
      kernel.family = kernel.calls.empty() ? (kernel.is_part ? "part" : "busy")
                                           : fmt::format("f{}", kernel.calls.front().work.index());
      program.kernels[n].name = kernel.name;
    }
    benchmark.job.programs[i] = std::make_shared<const Program>(std::move(program));
  }
  for (std::size_t n = 0; n < benchmark.job.groups.size(); ++n) {
    benchmark.job.groups[n].name = fmt::format("g {}", n);
  }
}

}  // namespace lockstep::generate
