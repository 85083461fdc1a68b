#include "generate/repetition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lockstep::generate {
namespace {

/// Repeats the ranges of one Program.
class Repetition {
 public:
  Repetition(const Program& source, const std::string& range, int times)
      : made_{source}, range_{range}, times_{times} {}

  Program write() {
    for (Program::Thread& thread : made_.threads) {
      thread.instructions = repeated(thread.instructions);
    }
    return std::move(made_);
  }
  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  std::vector<Instruction> repeated(const std::vector<Instruction>& code) {
    std::vector<Instruction> written;
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = is_meant(code[at]) ? end_of_range(code, at) : at + 1;
      if (is_meant(code[at])) {
        ++found_;
        // Who waits for an event of the range waits for the last time: copies come first.
        for (int copy = 1; copy < times_; ++copy) {
          add_copy({code.begin() + static_cast<std::ptrdiff_t>(at),
                    code.begin() + static_cast<std::ptrdiff_t>(end)},
                   written);
        }
      }
      written.insert(written.end(), code.begin() + static_cast<std::ptrdiff_t>(at),
                     code.begin() + static_cast<std::ptrdiff_t>(end));
      at = end;
    }
    return written;
  }

  [[nodiscard]] bool is_meant(const Instruction& i) const {
    return i.op == Opcode::RangeBegin && made_.names[i.operand].find(range_) != std::string::npos;
  }

  static std::size_t end_of_range(const std::vector<Instruction>& code, std::size_t begin) {
    int open = 0;
    for (std::size_t at = begin; at < code.size(); ++at) {
      open += code[at].op == Opcode::RangeBegin ? 1 : code[at].op == Opcode::RangeEnd ? -1 : 0;
      if (open == 0) {
        return at + 1;
      }
    }
    return code.size();
  }

  /// A copy has events of its own. Other threads hear of the range once.
  void add_copy(const std::vector<Instruction>& block, std::vector<Instruction>& written) {
    std::map<std::uint32_t, std::uint32_t> events;
    for (Instruction i : block) {
      if (i.op == Opcode::Post || i.op == Opcode::Await) {
        continue;
      }
      if (i.op == Opcode::RecordEvent) {
        i.operand = events.try_emplace(i.operand, made_.events++).first->second;
      } else if (i.op == Opcode::StreamWait || i.op == Opcode::WaitEvent) {
        const auto own = events.find(i.operand);
        i.operand = own == events.end() ? i.operand : own->second;
      }
      written.push_back(i);
    }
  }

  Program made_;
  const std::string& range_;
  int times_;
  std::size_t found_ = 0;
};

/// Collectives that a rank calls in each of the job's groups, messages apart.
std::map<std::uint32_t, std::size_t> calls_of(const Job& job, const RankAssignment& rank) {
  std::map<std::uint32_t, std::size_t> calls;
  const Program& program = *job.programs[rank.program];
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Collective) {
        const CollectiveCall& call =
            program.collectives[i.per_rank ? rank.collective_slots[i.operand] : i.operand];
        const bool is_message = call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
        calls[rank.groups[call.group]] += is_message ? 0 : 1;
      }
    }
  }
  return calls;
}

void expect_meetings(const Job& job, const std::string& range) {
  std::map<std::uint32_t, std::size_t> first;
  for (const RankAssignment& rank : job.ranks) {
    for (const auto& [group, calls] : calls_of(job, rank)) {
      if (first.try_emplace(group, calls).first->second != calls) {
        throw std::invalid_argument{fmt::format(
            "--repeat: ranks of group '{}' would communicate differently often, since '{}' is not a "
            "range of all",
            job.groups[group].name, range)};
      }
    }
  }
}

}  // namespace

void repeat(Benchmark& benchmark, const std::string& range, int times) {
  std::size_t found = 0;
  std::vector<std::shared_ptr<const Program>> programs;
  for (const auto& program : benchmark.job.programs) {
    Repetition repetition{*program, range, times};
    Program made = repetition.write();
    found += repetition.found();
    programs.push_back(std::make_shared<const Program>(std::move(made)));
  }
  if (found == 0) {
    throw std::invalid_argument{fmt::format("--repeat: no range has '{}' in its name", range)};
  }
  benchmark.job.programs = std::move(programs);
  expect_meetings(benchmark.job, range);
}

}  // namespace lockstep::generate
