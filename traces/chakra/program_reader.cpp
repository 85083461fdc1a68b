#include "traces/chakra/program_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/error.hpp"
#include "ops/call_hash.hpp"
#include "ops/data_type_name.hpp"
#include "ops/intern_table.hpp"
#include "ops/program_check.hpp"
#include "traces/chakra/node_record.hpp"
#include "traces/chakra/program_node.hpp"
#include "traces/chakra/program_trace.hpp"
#include "traces/chakra/record_reader.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::size_t kMostStreams = 256;  // Instruction::stream
constexpr double kMostIds = 1U << 24U;     // of events, flags and members of a group

Opcode opcode_named(std::string_view name) {
  for (std::size_t op = 0; op <= static_cast<std::size_t>(Opcode::StartLag); ++op) {
    if (name_of_opcode(static_cast<Opcode>(op)) == name) {
      return static_cast<Opcode>(op);
    }
  }
  throw WireError{fmt::format("'{}' is no instruction of a host", name)};
}

DataType type_named(std::string_view name) {
  for (std::size_t type = 0; type <= static_cast<std::size_t>(DataType::BOOL); ++type) {
    if (data_type_name(static_cast<DataType>(type)) == name) {
      return static_cast<DataType>(type);
    }
  }
  throw WireError{fmt::format("'{}' is no data type", name)};
}

CollectiveKind kind_of_collective(const ProgramNode& node) {
  using enum CollectiveKind;
  if (node.type == static_cast<std::uint64_t>(NodeType::Send)) return Send;
  if (node.type == static_cast<std::uint64_t>(NodeType::Receive)) return Receive;
  constexpr std::array<std::optional<CollectiveKind>, 10> kKinds{
      AllReduce, Reduce,   AllGather,     std::nullopt,  std::nullopt,
      Broadcast, AllToAll, ReduceScatter, ReduceScatter, Barrier};
  const std::optional<CollectiveKind> kind = kKinds.at(node.attributes.index("comm_type", kKinds.size()));
  if (!kind) {
    throw WireError{"a collective of a kind that is not simulated"};
  }
  return *kind;
}

float host_seconds(const ProgramAttributes& attributes, std::string_view name) {
  const double seconds = attributes.number_or(name, 0);
  if (seconds < 0 || seconds > static_cast<double>(std::numeric_limits<float>::max())) {
    throw WireError{fmt::format("attribute '{}' is no time of a host", name)};
  }
  return static_cast<float>(seconds);
}

double positive(const ProgramAttributes& attributes, std::string_view name) {
  const double value = attributes.number(name);
  if (value < 0) {
    throw WireError{fmt::format("attribute '{}' is below 0", name)};
  }
  return value;
}

class ProgramReader {
 public:
  explicit ProgramReader(const ProgramAttributes& metadata) {
    for (const std::string& name : metadata.at("threads").texts) {
      result_.program.threads.push_back({name, {}});
    }
    Program& program = result_.program;
    program.streams = metadata.at("streams").texts;
    program.groups = metadata.at("groups").texts;
    result_.pg_names = metadata.at("group_pg_names").texts;
    result_.group_names = metadata.at("group_names").texts;
    result_.is_shared = metadata.number_or("shared", 0) != 0;
    program.events = metadata.index("events", kMostIds);
    program.flags = metadata.index("flags", kMostIds);
    for (const double event : metadata.at("carried_events").numbers) {
      program.carried_events.push_back(static_cast<std::uint32_t>(std::clamp(event, 0.0, kMostIds)));
    }
    const std::size_t named = result_.is_shared ? 0 : program.groups.size();
    if (program.streams.size() > kMostStreams || program.threads.size() > kMostStreams ||
        result_.pg_names.size() != named || result_.group_names.size() != named) {
      throw WireError{"the metadata's lists of threads, streams and groups do not fit"};
    }
  }

  void add(const ProgramNode& node) {
    if (node.id <= last_id_) {
      throw WireError{fmt::format(
          "node {} stands behind node {}: a Program's stand in the order of their ids", node.id, last_id_)};
    }
    last_id_ = node.id;
    if (node.attributes.number("is_cpu_op") != 0) {
      host(node);
    } else {
      gpu(node);
    }
  }

  RankProgram finish() && {
    if (!launches_.empty()) {
      throw WireError{fmt::format("node {} launches nothing", launches_.begin()->first)};
    }
    Program& program = result_.program;
    program.kernels = std::move(kernels_).take();
    program.collectives = std::move(collectives_).take();
    return std::move(result_);
  }

 private:
  void host(const ProgramNode& node) {
    const ProgramAttributes& attributes = node.attributes;
    Program& program = result_.program;
    Instruction instruction;
    instruction.op = opcode_named(attributes.text("op"));
    instruction.lead = host_seconds(attributes, "lead");
    instruction.cost = host_seconds(attributes, "cost");
    const std::uint32_t thread = attributes.index("tid", static_cast<double>(program.threads.size()));
    if (attributes.find("stream") != nullptr) {
      instruction.stream =
          static_cast<std::uint8_t>(attributes.index("stream", static_cast<double>(program.streams.size())));
    }
    switch (instruction.op) {
      case Opcode::HostWork:
      case Opcode::RangeBegin:
        instruction.operand = name(node.name);
        break;
      case Opcode::RecordEvent:
      case Opcode::StreamWait:
      case Opcode::WaitEvent:
        instruction.operand = attributes.index("event", program.events);
        break;
      case Opcode::Post:
      case Opcode::Await:
        instruction.operand = attributes.index("flag", program.flags);
        break;
      default:
        break;
    }
    auto& code = program.threads[thread].instructions;
    if (instruction.op == Opcode::Launch || instruction.op == Opcode::Collective) {
      launches_[node.id] = {thread, code.size()};
    }
    code.push_back(instruction);
  }

  void gpu(const ProgramNode& node) {
    const auto launch = launches_.find(node.parent);
    if (launch == launches_.end()) {
      throw WireError{
          fmt::format("node {} ('{}') is on the GPU without a launch (ctrl_deps)", node.id, node.name)};
    }
    Instruction& instruction =
        result_.program.threads[launch->second.thread].instructions[launch->second.instruction];
    const bool is_kernel = node.type == static_cast<std::uint64_t>(NodeType::Compute) ||
                           node.attributes.find("as_kernel") != nullptr;
    if (is_kernel != (instruction.op == Opcode::Launch)) {
      throw WireError{fmt::format("node {} ('{}') is not what its launch says", node.id, node.name)};
    }
    instruction.operand = is_kernel ? kernels_.intern(kernel(node)) : collectives_.intern(collective(node));
    launches_.erase(launch);
  }

  static KernelCall kernel(const ProgramNode& node) {
    const ProgramAttributes& attributes = node.attributes;
    KernelCall call{std::string{node.name}, type_named(attributes.text("dtype")),
                    Timed{Seconds{positive(attributes, "seconds")}}};
    if (attributes.find("copy") != nullptr) {
      const std::string_view path = attributes.text("copy");
      Memcpy copy{Bytes{positive(attributes, "bytes")}, Memcpy::Path::DeviceToDevice,
                  attributes.number("pinned") != 0};
      if (path == "host_to_device") {
        copy.path = Memcpy::Path::HostToDevice;
      } else if (path == "device_to_host") {
        copy.path = Memcpy::Path::DeviceToHost;
      } else if (path == "device_to_device") {
        return call;  // shares no link: as long as recorded
      } else {
        throw WireError{fmt::format("'{}' is no way of a copy", path)};
      }
      call.work = copy;
    }
    return call;
  }

  CollectiveCall collective(const ProgramNode& node) const {
    const ProgramAttributes& attributes = node.attributes;
    CollectiveCall call;
    call.kind = kind_of_collective(node);
    call.type = type_named(attributes.text("dtype"));
    call.group = attributes.index("group", static_cast<double>(result_.program.groups.size()));
    call.size = Bytes{positive(attributes, "bytes")};
    call.peer = static_cast<int>(attributes.index("peer", kMostIds));
    if (attributes.find("recorded_seconds") != nullptr) {
      call.recorded = Seconds{positive(attributes, "recorded_seconds")};
    }
    if (const ProgramAttribute* sent = attributes.find("send_bytes")) {
      call.send_bytes = sent->numbers;
    }
    return call;
  }

  std::uint32_t name(std::string_view text) {
    auto& names = result_.program.names;
    const auto [entry, fresh] =
        names_.try_emplace(std::string{text}, static_cast<std::uint32_t>(names.size()));
    if (fresh) {
      names.emplace_back(text);
    }
    return entry->second;
  }

  struct Launch {
    std::uint32_t thread = 0;
    std::size_t instruction = 0;
  };

  RankProgram result_;
  std::map<std::uint64_t, Launch> launches_;  // whose work has not come
  std::unordered_map<std::string, std::uint32_t> names_;
  InternTable<KernelCall, &hash_of> kernels_;
  InternTable<CollectiveCall, &hash_of> collectives_;
  std::uint64_t last_id_ = 0;
};

}  // namespace

RankProgram read_program(const std::filesystem::path& path) {
  RecordReader file{path};
  std::string_view record;
  if (!file.next(record)) {
    file.reject("no Chakra execution trace: the file is empty");
  }
  try {
    const ProgramAttributes metadata = read_metadata(record);
    if (metadata.find("schema") == nullptr || metadata.text("schema") != kProgramSchema) {
      throw WireError{
          fmt::format("the metadata's schema is not {}, as of other ranks' traces", kProgramSchema)};
    }
    ProgramReader reader{metadata};
    ProgramNode node;
    while (file.next(record)) {
      read_program_node(record, node);
      reader.add(node);
    }
    RankProgram result = std::move(reader).finish();
    check(result.program);
    return result;
  } catch (const WireError& problem) {
    file.reject(problem.what());
  } catch (const std::invalid_argument& problem) {
    file.expect_whole();
    throw InputError{{path.string()}, problem.what()};
  }
}

TraceKind kind_of_traces(const ChakraSpec& spec, const std::filesystem::path& folder) {
  std::string name = (folder / spec.chakra).string();
  if (const std::size_t rank = name.find("%d"); rank != std::string::npos) {
    name.replace(rank, 2, "0");
  }
  try {
    RecordReader file{name};
    std::string_view record;
    if (!file.next(record)) {
      return TraceKind::Graph;
    }
    const ProgramAttributes metadata = read_metadata(record);
    if (metadata.find("schema") == nullptr || metadata.text("schema") != kProgramSchema) {
      return TraceKind::Graph;
    }
    return metadata.number("has_launches") != 0 ? TraceKind::Program : TraceKind::ProgramOfGraph;
  } catch (const WireError&) {
    return TraceKind::Graph;
  } catch (const InputError&) {
    return TraceKind::Graph;
  }
}

}  // namespace lockstep::chakra
