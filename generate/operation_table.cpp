#include "generate/operation_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "base/error.hpp"
#include "base/file.hpp"
#include "generate/work_size.hpp"
#include "generate/work_text.hpp"
#include "ops/data_type_name.hpp"

namespace lockstep::generate {
namespace {

constexpr auto kOpcodes = std::to_array<Opcode>(
    {Opcode::HostWork, Opcode::RangeBegin, Opcode::RangeEnd, Opcode::Launch, Opcode::Collective,
     Opcode::RecordEvent, Opcode::StreamWait, Opcode::WaitEvent, Opcode::WaitStream, Opcode::WaitDevice,
     Opcode::Post, Opcode::Await, Opcode::StartLag});  // by benchmark::Opcode

constexpr auto kCollectives = std::to_array<CollectiveKind>(
    {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
     CollectiveKind::AllToAll, CollectiveKind::Broadcast, CollectiveKind::Reduce, CollectiveKind::Send,
     CollectiveKind::Receive, CollectiveKind::Barrier});

constexpr auto kElementTypes =
    std::to_array<DataType>({DataType::FP32, DataType::TF32, DataType::FP16, DataType::BF16, DataType::FP8,
                             DataType::INT32, DataType::INT64, DataType::UINT8, DataType::BOOL});

benchmark::Kernel kernel_of(const BenchmarkKernel& kernel, const KernelCall& simulated) {
  benchmark::Kernel made;
  made.backend = kernel.is_part ? "part" : std::string{kBackends[static_cast<std::size_t>(kernel.backend)]};
  made.recorded = std::holds_alternative<Timed>(simulated.work);
  made.seconds = kernel.backend == Backend::Skipped ? 0 : kernel.seconds;
  made.delay = kernel.delay;
  made.graph = kernel.graph;
  made.reads = kernel.reads;
  made.writes = kernel.writes;
  made.family = kernel.family;
  made.name = kernel.name;
  for (const KernelCall& call : kernel.calls) {
    const WorkSize size = size_of(call);
    made.bytes += size.bytes;
    made.flops += size.flops;
    made.calls.push_back(call_of(call));
  }
  return made;
}

benchmark::Collective collective_of(const CollectiveCall& call) {
  benchmark::Collective made;
  made.kind = to_string(call.kind);
  made.type = data_type_name(call.type);
  made.group = call.group;
  made.bytes = call.size.in_base_units();
  made.peer = call.peer;
  made.batched = call.batched;
  made.sm_limit = call.sm_limit == std::numeric_limits<int>::max() ? 0 : call.sm_limit;
  made.recorded = call.recorded ? call.recorded->in_base_units() : -1;
  made.send_bytes = call.send_bytes;
  return made;
}

benchmark::Program program_of(const Program& program, const std::vector<BenchmarkKernel>& kernels,
                              const std::vector<double>& delays) {
  benchmark::Program made;
  made.streams = program.streams;
  made.groups = program.groups;
  made.names = program.names;
  made.events = program.events;
  made.flags = program.flags;
  made.carried_events = program.carried_events;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    made.kernels.push_back(kernel_of(kernels[i], program.kernels[i]));
  }
  for (std::size_t i = 0; i < program.collectives.size(); ++i) {
    made.collectives.push_back(collective_of(program.collectives[i]));
    made.collectives.back().delay = i < delays.size() ? delays[i] : 0;
  }
  for (const Program::Thread& thread : program.threads) {
    benchmark::Thread& written = made.threads.emplace_back();
    written.name = thread.name;
    for (const Instruction& i : thread.instructions) {
      const auto op = std::ranges::find(kOpcodes, i.op) - kOpcodes.begin();
      written.instructions.push_back(
          {static_cast<benchmark::Opcode>(op), i.stream, i.per_rank, i.operand, i.lead, i.cost});
    }
  }
  return made;
}

/// `1,2,3`, or `-` for none.
template <class List>
std::string list_text(const List& list) {
  return list.empty() ? "-" : fmt::format("{}", fmt::join(list, ","));
}

/// Lines of the text.
class TableText {
 public:
  std::string write(const benchmark::Table& table) && {
    line("lockstep-benchmark 2");
    line("# What the program does: kernels and collectives, then the instructions of each host thread as");
    line(
        "# OPERATION stream operand before cost, in seconds of the host. Sizes that are not said are usual "
        "ones.");
    line("seed {}", table.seed);
    line("job_steps {}", table.job_steps);
    line("steps {}", table.steps);
    line("host_time {}", table.host_recorded ? "recorded" : "none");
    for (const benchmark::Group& group : table.groups) {
      line("group {} {}", list_text(group.ranks), group.name);
    }
    std::ranges::for_each(table.programs, [&](const auto& program) { write(program); });
    for (const benchmark::Rank& rank : table.ranks) {
      line("rank {} {} {} {}", rank.program, list_text(rank.groups), list_text(rank.kernel_slots),
           list_text(rank.collective_slots));
    }
    return std::move(text_);
  }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
    while (text_.ends_with(' ')) {
      text_.pop_back();
    }
    text_ += '\n';
  }

  void fields(const char* word, const benchmark::Fields& fields) {
    std::string pairs;
    for (const auto& [name, value] : fields) {
      pairs += fmt::format(" {}={}", name, value);
    }
    line("{}{}", word, pairs);
  }

  void write(const benchmark::Program& program) {
    line("program");
    for (const std::string& stream : program.streams) {
      line("stream {}", stream);
    }
    for (const std::string& group : program.groups) {
      line("uses {}", group);
    }
    for (const std::string& name : program.names) {
      line("name {}", name);
    }
    line("events {} {}", program.events, list_text(program.carried_events));
    line("flags {}", program.flags);
    if (!program.views.empty()) {
      line("memory {}", program.memory);
      for (const benchmark::View& view : program.views) {
        line("view {} {}", view.place, view.bytes);
      }
    }
    for (const benchmark::Kernel& kernel : program.kernels) {
      line("kernel {} {} {} {} {} {} {} {} {}", kernel.backend, kernel.recorded ? "recorded" : "modelled",
           kernel.seconds, kernel.bytes, kernel.flops, kernel.delay, kernel.graph, kernel.family,
           kernel.name);
      if (!kernel.reads.empty() || !kernel.writes.empty()) {
        line("operands {} {}", list_text(kernel.reads), list_text(kernel.writes));
      }
      for (const benchmark::Call& call : kernel.calls) {
        fields(fmt::format("call {} {}", call.work, call.type).c_str(), call.fields);
        for (const benchmark::Fields& table : call.tables) {
          fields("table", table);
        }
      }
    }
    for (const benchmark::Collective& call : program.collectives) {
      line("communication {} {} {} {} {} {} {} {} {} {}", call.kind, call.type, call.group, call.bytes,
           call.peer, call.batched ? 1 : 0, call.sm_limit, call.recorded, call.delay,
           list_text(call.send_bytes));
    }
    for (const benchmark::Thread& thread : program.threads) {
      line("thread {}", thread.name);
      for (const benchmark::Instruction& i : thread.instructions) {
        line("{}{} {} {} {} {}", benchmark::opcode_names()[static_cast<std::size_t>(i.op)],
             i.per_rank ? "*" : "", i.stream, i.operand, i.lead, i.cost);
      }
    }
  }

  std::string text_;
};

KernelCall simulated_kernel(const benchmark::Kernel& kernel) {
  if (!kernel.recorded && kernel.calls.size() == 1) {
    return kernel_call(kernel.calls.front(), kernel.name);
  }
  return {kernel.name, DataType::FP32, Timed{Seconds{kernel.seconds}}};
}

CollectiveCall collective_call(const benchmark::Collective& call) {
  CollectiveCall made;
  const auto kind =
      std::ranges::find_if(kCollectives, [&](CollectiveKind known) { return to_string(known) == call.kind; });
  const auto type =
      std::ranges::find_if(kElementTypes, [&](DataType known) { return data_type_name(known) == call.type; });
  if (kind == kCollectives.end() || type == kElementTypes.end()) {
    throw std::invalid_argument{fmt::format("there is no collective '{} {}'", call.kind, call.type)};
  }
  made.kind = *kind;
  made.type = *type;
  made.group = call.group;
  made.size = Bytes{call.bytes};
  made.peer = call.peer;
  made.batched = call.batched;
  made.sm_limit = call.sm_limit > 0 ? call.sm_limit : std::numeric_limits<int>::max();
  made.send_bytes = call.send_bytes;
  if (call.recorded >= 0) {
    made.recorded = Seconds{call.recorded};
  }
  return made;
}

Program simulated_program(const benchmark::Program& program) {
  Program made;
  made.streams = program.streams;
  made.groups = program.groups;
  made.names = program.names;
  made.events = program.events;
  made.flags = program.flags;
  made.carried_events = program.carried_events;
  std::ranges::transform(program.kernels, std::back_inserter(made.kernels), simulated_kernel);
  std::ranges::transform(program.collectives, std::back_inserter(made.collectives), collective_call);
  for (const benchmark::Thread& thread : program.threads) {
    Program::Thread& written = made.threads.emplace_back();
    written.name = thread.name;
    for (const benchmark::Instruction& i : thread.instructions) {
      written.instructions.push_back(Instruction{.op = kOpcodes[static_cast<std::size_t>(i.op)],
                                                 .stream = i.stream,
                                                 .per_rank = i.per_rank,
                                                 .operand = i.operand,
                                                 .lead = i.lead,
                                                 .cost = i.cost});
    }
  }
  return made;
}

}  // namespace

benchmark::Table table_of(const Benchmark& benchmark, const RunOptions& options) {
  const Job& job = benchmark.job;
  benchmark::Table made;
  made.seed = options.seed;
  made.steps = options.steps;
  made.host_recorded = options.host_recorded;
  made.job_steps = job.steps;
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    made.programs.push_back(
        program_of(*job.programs[i], benchmark.kernels[i],
                   i < benchmark.delays.size() ? benchmark.delays[i] : std::vector<double>{}));
    if (i < benchmark.memory.size()) {
      made.programs.back().memory = benchmark.memory[i].bytes;
      for (const MemoryPlan::View& view : benchmark.memory[i].views) {
        made.programs.back().views.push_back({view.place, view.bytes});
      }
    }
  }
  for (const ProcessGroup& group : job.groups) {
    made.groups.push_back({group.name, group.ranks});
  }
  for (const RankAssignment& rank : job.ranks) {
    made.ranks.push_back({rank.program, rank.groups, rank.kernel_slots, rank.collective_slots});
  }
  return made;
}

std::string to_text(const benchmark::Table& table) {
  return TableText{}.write(table);
}

benchmark::Table read_operation_table(const std::filesystem::path& file) {
  std::istringstream text{read_whole_file(file)};
  try {
    return benchmark::read_table(text);
  } catch (const benchmark::TableError& problem) {
    throw InputError{{file.string(), problem.line, 1}, problem.what()};
  }
}

Job job_of(const benchmark::Table& table) {
  Job job;
  job.steps = table.job_steps;
  for (const benchmark::Program& program : table.programs) {
    job.programs.push_back(std::make_shared<const Program>(simulated_program(program)));
  }
  for (const benchmark::Group& group : table.groups) {
    job.groups.push_back({group.name, group.ranks});
  }
  for (const benchmark::Rank& rank : table.ranks) {
    RankAssignment assignment;
    assignment.program = rank.program;
    assignment.groups = rank.groups;
    assignment.kernel_slots = rank.kernel_slots;
    assignment.collective_slots = rank.collective_slots;
    job.ranks.push_back(std::move(assignment));
  }
  return job;
}

}  // namespace lockstep::generate
