#include "synth/aggregate.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "ops/call_hash.hpp"
#include "ops/intern_table.hpp"
#include "ops/thread_walk.hpp"
#include "sim/compiled_program.hpp"
#include "synth/stream_order.hpp"

namespace lockstep::synth {
namespace {

constexpr const char* kPiece = "compute";
constexpr double kShortestLoss = 1e-7;  ///< seconds

bool can_merge(const CollectiveCall& call) {
  return call.kind != CollectiveKind::Send && call.kind != CollectiveKind::Receive && call.send_bytes.empty();
}

bool is_copy_with_host(const KernelCall& call) {
  const auto* copy = std::get_if<Memcpy>(&call.work);
  return copy != nullptr && copy->path != Memcpy::Path::DeviceToDevice;
}

/// One Program, anew.
class AggregateWriter {
 public:
  /// @param groups of a rank that runs the program, in the program's order
  AggregateWriter(const Program& program, std::vector<const ProcessGroup*> groups, const GpuSpec& gpu,
                  const AggregateOptions& options)
      : program_{program},
        options_{options},
        groups_{std::move(groups)},
        gap_{options.has_launches ? gpu.kernel_gap.in_base_units() : 0},
        times_{time_kernels(program, gpu)},
        open_(program.streams.size()),
        lags_(program.streams.size()) {
    for (const Program::Thread& thread : program.threads) {
      kept_.emplace_back(thread.instructions.size(), false);
      made_.emplace_back(thread.instructions.size(), Instruction{});
      lost_.emplace_back(thread.instructions.size(), 0);
      lag_before_.emplace_back(thread.instructions.size(), 0);
    }
  }

  Program write(AggregateReport& report) {
    choose_work();
    keep_needed_order(program_, kept_);
    merge();
    Program made;
    made.streams = program_.streams;
    made.groups = program_.groups;
    made.flags = program_.flags;
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      made.threads.push_back({program_.threads[thread].name, instructions(thread, made)});
    }
    for (const std::uint32_t event : program_.carried_events) {
      if (const auto known = events_.find(event); known != events_.end()) {
        made.carried_events.push_back(known->second);
      }
    }
    std::ranges::sort(made.carried_events);
    made.events = static_cast<std::uint32_t>(events_.size());
    count(report);
    return made;
  }

  /// The number of what a rank has in a slot.
  std::uint32_t kernel(std::uint32_t number) { return kernels_.intern(program_.kernels[number]); }
  std::uint32_t call(std::uint32_t number) { return calls_.intern(program_.collectives[number]); }

  void take_tables(Program& made) && {
    made.kernels = std::move(kernels_).take();
    made.collectives = std::move(calls_).take();
  }

 private:
  using Spot = std::pair<std::size_t, std::size_t>;  // thread, instruction
  struct Piece {
    Spot at;
    double seconds = 0;
  };

  [[nodiscard]] bool joins(const Instruction& i) const {
    if (i.op != Opcode::Launch || i.per_rank) return false;
    const KernelCall& call = program_.kernels[i.operand];
    return !is_copy_with_host(call) && !options_.stays(call);
  }

  using RowKey = std::tuple<std::uint32_t, CollectiveKind, std::size_t>;

  /// Collectives by group, kind and thread, in their order. The order of calls of several threads is not in a
  /// Program: rows across threads would differ between the members of a group.
  std::map<RowKey, std::vector<Spot>> rows() {
    std::map<RowKey, std::vector<Spot>> found;
    std::vector<double> lags(open_.size(), 0);
    walk([&](Spot at, const Instruction& i) {
      if (i.op == Opcode::StartLag) lags[i.stream] = static_cast<double>(i.cost);
      if (i.op == Opcode::Launch || i.op == Opcode::Collective) {
        lag_before_[at.first][at.second] = std::exchange(lags[i.stream], 0);
      }
      if (i.op == Opcode::Launch) kept_[at.first][at.second] = true;
      if (i.op != Opcode::Collective) return;
      const bool is_merged = !i.per_rank && can_merge(program_.collectives[i.operand]);
      if (is_merged) {
        const CollectiveCall& call = program_.collectives[i.operand];
        found[{call.group, call.kind, at.first}].push_back(at);
      } else {
        kept_[at.first][at.second] = true;
      }
    });
    return found;
  }

  /// Leaves as many of n collectives as the largest power of two has, at equal distances.
  void choose_work() {
    for (const auto& [kind, row] : rows()) {
      const std::size_t left = std::bit_floor(std::min<std::size_t>(row.size(), options_.collectives));
      double bytes = 0;
      double recorded = 0;
      double alone = 0;
      for (std::size_t k = 0; k < row.size(); ++k) {
        const Instruction& i = program_.threads[row[k].first].instructions[row[k].second];
        CollectiveCall call = program_.collectives[i.operand];
        bytes += call.size.in_base_units();
        recorded += call.recorded ? call.recorded->in_base_units() : 0;
        alone += seconds_alone(call);
        if ((k + 1) * left / row.size() == k * left / row.size()) {
          alone += lag_before_[row[k].first][row[k].second] + gap_;
          continue;
        }
        call.size = Bytes{std::exchange(bytes, 0)};
        if (call.recorded) call.recorded = Seconds{std::exchange(recorded, 0)};
        kept_[row[k].first][row[k].second] = true;
        lost_[row[k].first][row[k].second] = std::exchange(alone, 0) - seconds_alone(call);
        made_[row[k].first][row[k].second].operand = calls_.intern(call);
      }
    }
  }

  /// Recorded ones lose no latency: they take as long as all of them.
  double seconds_alone(const CollectiveCall& call) {
    if (!options_.alone || call.recorded) return 0;
    const auto [known, is_new] = alone_.try_emplace({call.kind, call.group, call.size.in_base_units()}, 0);
    if (is_new) known->second = options_.alone(call, *groups_[call.group]);
    return known->second;
  }

  template <class Visit>
  void walk(const Visit& visit) const {
    ThreadWalk<char> steps{program_};
    steps.run([&](std::size_t thread, std::size_t at, const Instruction& i) {
      if (i.op == Opcode::Post) steps.post(i.operand, 0);
      if (i.op == Opcode::Await) static_cast<void>(steps.await(thread, i.operand));
      visit(Spot{thread, at}, i);
    });
  }

  void merge() {
    walk([this](Spot at, const Instruction& i) {
      auto kept = kept_[at.first].begin() + static_cast<std::ptrdiff_t>(at.second);
      switch (i.op) {
        case Opcode::Launch:
          launch(at, i);
          break;
        case Opcode::Collective:
          if (*kept) end_row(i.stream, true);
          lags_[i.stream].reset();
          break;
        case Opcode::StreamWait:
        case Opcode::RecordEvent:
          if (*kept) end_row(i.stream, false);
          break;
        case Opcode::StartLag:
          lags_[i.stream] = at;
          break;
        case Opcode::WaitEvent:
        case Opcode::WaitStream:
        case Opcode::WaitDevice:
        case Opcode::Post:
        case Opcode::Await:
          *kept = true;
          for (std::size_t stream = 0; stream < open_.size(); ++stream) {
            end_row(static_cast<std::uint8_t>(stream), false);
          }
          break;
        default:  // ranges, host work: their time stays
          break;
      }
    });
    for (std::size_t stream = 0; stream < open_.size(); ++stream) {
      end_row(static_cast<std::uint8_t>(stream), false);
    }
  }

  void launch(Spot at, const Instruction& i) {
    if (!joins(i)) {
      end_row(i.stream, true);
      lags_[i.stream].reset();
      if (!i.per_rank) made_[at.first][at.second].operand = kernel(i.operand);
      return;
    }
    const double seconds = times_[i.operand].seconds;
    std::optional<Piece>& row = open_[i.stream];
    if (row && row->at.first == at.first) {
      row->seconds += seconds + gap_;
      if (const auto lag = lags_[i.stream]) {
        row->seconds += static_cast<double>(program_.threads[lag->first].instructions[lag->second].cost);
      }
      kept_[at.first][at.second] = false;
    } else {
      end_row(i.stream, true);
      row = Piece{at, seconds};
    }
    lags_[i.stream].reset();
  }

  /// @param has_next work of its own follows on the stream: so does its lag
  void end_row(std::uint8_t stream, bool has_next) {
    if (std::optional<Piece>& row = open_[stream]) {
      const KernelCall piece{kPiece, DataType::FP32, Timed{Seconds{options_.coarse(row->seconds)}}};
      made_[row->at.first][row->at.second].operand = kernels_.intern(piece);
      row.reset();
    }
    if (const auto lag = lags_[stream]; has_next && lag) kept_[lag->first][lag->second] = true;
  }

  /// A kernel before a collective, launched with it.
  void write_loss(const Instruction& call, double seconds, std::vector<Instruction>& code) {
    const KernelCall piece{kPiece, DataType::FP32, Timed{Seconds{options_.coarse(seconds)}}};
    Instruction launch;
    launch.op = Opcode::Launch;
    launch.stream = call.stream;
    launch.operand = kernels_.intern(piece);
    code.push_back(launch);
  }

  std::uint32_t event(std::uint32_t number) {
    return events_.try_emplace(number, static_cast<std::uint32_t>(events_.size())).first->second;
  }

  std::vector<Instruction> instructions(std::size_t thread, Program& made) {
    std::vector<Instruction> code;
    double host = 0;
    const auto& source = program_.threads[thread].instructions;
    for (std::size_t at = 0; at < source.size(); ++at) {
      Instruction i = source[at];
      if (!kept_[thread][at]) {
        const bool takes_host_time = i.op != Opcode::StartLag;
        if (takes_host_time) host += static_cast<double>(i.lead) + static_cast<double>(i.cost);
        continue;
      }
      const bool is_work = i.op == Opcode::Launch || i.op == Opcode::Collective;
      const bool has_event =
          i.op == Opcode::RecordEvent || i.op == Opcode::StreamWait || i.op == Opcode::WaitEvent;
      if (is_work && !i.per_rank) i.operand = made_[thread][at].operand;
      if (is_work && i.op == Opcode::Collective && !i.per_rank &&
          !can_merge(program_.collectives[source[at].operand])) {
        i.operand = call(source[at].operand);
      }
      if (lost_[thread][at] > kShortestLoss) write_loss(i, lost_[thread][at], code);
      if (has_event) i.operand = event(i.operand);
      if (i.op != Opcode::StartLag) {
        i.lead = static_cast<float>(static_cast<double>(i.lead) + std::exchange(host, 0));
      }
      code.push_back(i);
    }
    if (host > 0) {
      if (made.names.empty()) made.names.emplace_back("host");
      code.push_back({Opcode::HostWork, 0, false, 0, 0, 0, static_cast<float>(host)});
    }
    return code;
  }

  void count(AggregateReport& report) const {
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      const auto& code = program_.threads[thread].instructions;
      for (std::size_t at = 0; at < code.size(); ++at) {
        const std::uint64_t is_left = kept_[thread][at] ? 1 : 0;
        if (code[at].op == Opcode::Launch) {
          ++report.launches;
          report.left_launches += is_left;
        } else if (code[at].op == Opcode::Collective) {
          ++report.collectives;
          report.left_collectives += is_left;
        }
      }
    }
  }

  const Program& program_;
  const AggregateOptions& options_;
  std::vector<const ProcessGroup*> groups_;
  double gap_;
  std::vector<KernelTiming> times_;
  KeptInstructions kept_;
  std::vector<std::vector<Instruction>> made_;   // operands of work that is kept
  std::vector<std::vector<double>> lost_;        // seconds of latency before a collective that is kept
  std::vector<std::vector<double>> lag_before_;  // seconds, of work
  std::map<std::tuple<CollectiveKind, std::uint32_t, double>, double> alone_;
  std::vector<std::optional<Piece>> open_;  // by stream
  std::vector<std::optional<Spot>> lags_;   // by stream: that of the next work
  std::map<std::uint32_t, std::uint32_t> events_;
  InternTable<KernelCall, &hash_of> kernels_;
  InternTable<CollectiveCall, &hash_of> calls_;
};

/// Groups of the first rank that runs a program.
std::vector<const ProcessGroup*> groups_of(const Job& job, std::uint32_t program) {
  std::vector<const ProcessGroup*> groups;
  const auto rank = std::ranges::find(job.ranks, program, &RankAssignment::program);
  if (rank == job.ranks.end()) return groups;
  for (const std::uint32_t group : rank->groups) groups.push_back(&job.groups[group]);
  return groups;
}

}  // namespace

AggregateReport aggregate(Job& job, const GpuSpec& gpu, const AggregateOptions& options) {
  AggregateReport report;
  for (std::uint32_t number = 0; number < job.programs.size(); ++number) {
    const std::shared_ptr<const Program> source = job.programs[number];
    AggregateWriter writer{*source, groups_of(job, number), gpu, options};
    Program made = writer.write(report);
    for (RankAssignment& rank : job.ranks) {
      if (rank.program != number) continue;
      for (std::uint32_t& slot : rank.kernel_slots) slot = writer.kernel(slot);
      for (std::uint32_t& slot : rank.collective_slots) slot = writer.call(slot);
    }
    std::move(writer).take_tables(made);
    job.programs[number] = std::make_shared<const Program>(std::move(made));
  }
  return report;
}

}  // namespace lockstep::synth
