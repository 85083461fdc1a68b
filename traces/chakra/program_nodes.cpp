#include "traces/chakra/program_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "ops/data_type_name.hpp"
#include "ops/thread_walk.hpp"
#include "traces/chakra/call_attributes.hpp"
#include "traces/chakra/node_record.hpp"
#include "traces/chakra/note_attributes.hpp"
#include "traces/chakra/program_trace.hpp"
#include "traces/chakra/record_writer.hpp"
#include "traces/chakra/wire_writer.hpp"

namespace lockstep::chakra {
namespace {

using Ids = std::vector<std::uint64_t>;

constexpr const char* kVersion = "0.0.4";
constexpr double kMicro = 1e6;
constexpr double kNano = 1e9;

/// The fields of a node besides its attributes.
struct NodeDraft {
  std::string_view name;
  NodeType type = NodeType::Compute;
  Ids control, data;
  double seconds = 0;
};

/// Walks one rank's Program.
class RankWriter {
 public:
  RankWriter(const Job& job, std::uint32_t rank, std::span<const KernelTiming> kernels,
             const TraceContent& content)
      : job_{job},
        assignment_{job.ranks[rank]},
        program_{*job.programs[assignment_.program]},
        kernels_{kernels},
        calls_{job, rank, content.is_shared},
        notes_{content.notes != nullptr ? *content.notes : NodeNotes{}},
        is_shared_{content.is_shared},
        threads_(program_.threads.size()),
        streams_(program_.streams.size()),
        events_(program_.events),
        walk_{program_} {}

  std::string write(bool has_launches) && {
    metadata(has_launches);
    walk_.run([this](std::size_t thread, std::size_t number, const Instruction& instruction) {
      host_node({assignment_.program, thread, number}, instruction);
    });
    return std::move(text_);
  }

 private:
  struct Thread {
    std::uint64_t last = 0;  // node; 0: none
    Ids ranges;              // open ones, the innermost last
  };
  struct Stream {
    std::uint64_t last = 0;
    Ids waits_for;  // of other streams, by its next node
    [[nodiscard]] Ids tail() const {
      Ids ids = waits_for;
      if (last != 0) {
        ids.push_back(last);
      }
      return ids;
    }
  };

  void metadata(bool has_launches) {
    WireWriter message;
    message.bytes(1, kVersion);
    AttributeWriter attributes{message, 2};
    attributes.text("schema", kProgramSchema);
    attributes.boolean("has_launches", has_launches);
    std::vector<std::string> threads;
    for (const Program::Thread& thread : program_.threads) {
      threads.push_back(thread.name);
    }
    std::vector<std::string> numbers;
    std::vector<std::string> names;
    if (is_shared_) attributes.boolean("shared", true);
    for (const std::uint32_t group : assignment_.groups) {
      if (is_shared_) break;
      numbers.push_back(fmt::format("{}", group + 1));
      names.push_back(job_.groups[group].name);
    }
    attributes.texts("threads", threads);
    attributes.texts("streams", program_.streams);
    attributes.texts("groups", program_.groups);
    attributes.texts("group_pg_names", numbers);
    attributes.texts("group_names", names);
    attributes.uint64("events", program_.events);
    attributes.uint64("flags", program_.flags);
    attributes.uint64s("carried_events", Ids{program_.carried_events.begin(), program_.carried_events.end()});
    append_record(message, text_);
  }

  /// Begins a node; its attributes follow.
  WireWriter node(NodeDraft draft) {
    std::sort(draft.data.begin(), draft.data.end());
    draft.data.erase(std::unique(draft.data.begin(), draft.data.end()), draft.data.end());
    WireWriter message;
    message.number(1, ++last_id_).bytes(2, draft.name).number(3, static_cast<std::uint64_t>(draft.type));
    message.packed(4, draft.control).packed(5, draft.data);
    if (draft.seconds > 0) {
      message.number(7, static_cast<std::uint64_t>(std::llround(draft.seconds * kMicro)));
    }
    return message;
  }
  static void duration(AttributeWriter& attributes, double seconds) {
    if (seconds > 0) {
      attributes.real("duration_ns", seconds * kNano);
    }
  }

  [[nodiscard]] std::string name_of(const Instruction& instruction) const {
    const bool has_name = instruction.op == Opcode::HostWork || instruction.op == Opcode::RangeBegin;
    return has_name ? program_.names[instruction.operand] : std::string{name_of_opcode(instruction.op)};
  }

  /// Nodes that a host node waits for, beside the one before it.
  Ids awaited_by(std::size_t thread, const Instruction& instruction) {
    switch (instruction.op) {
      case Opcode::WaitEvent:
        return events_[instruction.operand];
      case Opcode::WaitStream:
        return streams_[instruction.stream].tail();
      case Opcode::WaitDevice: {
        Ids all;
        for (const Stream& stream : streams_) {
          const Ids tail = stream.tail();
          all.insert(all.end(), tail.begin(), tail.end());
        }
        return all;
      }
      case Opcode::Await:
        return {walk_.await(thread, instruction.operand)};
      default:
        return {};
    }
  }

  void host_node(const NodePlace& place, const Instruction& instruction) {
    const std::size_t number = place.thread;
    Thread& thread = threads_[number];
    const bool is_lag = instruction.op == Opcode::StartLag;  // of the GPU: no time of the host
    const double seconds =
        is_lag ? 0 : static_cast<double>(instruction.lead) + static_cast<double>(instruction.cost);
    const std::string name = name_of(instruction);
    NodeDraft draft{name, NodeType::Compute, {}, awaited_by(number, instruction), seconds};
    if (thread.last != 0) {
      draft.data.push_back(thread.last);
    }
    if (!thread.ranges.empty()) {
      draft.control.push_back(thread.ranges.back());
    }
    WireWriter message = node(std::move(draft));
    here_ = place;
    const std::optional<OperatorNote> note =
        instruction.op == Opcode::RangeBegin && notes_.of_range ? notes_.of_range(here_) : std::nullopt;
    if (note) {
      write_arguments(*note, message);
    }
    AttributeWriter attributes{message, 10};
    attributes.boolean("is_cpu_op", true);
    attributes.int64("tid", static_cast<std::int64_t>(number));
    attributes.text("op", name_of_opcode(instruction.op));
    duration(attributes, seconds);
    own_attributes(attributes, instruction);
    if (note) {
      write_attributes(*note, attributes);
    }
    append_record(message, text_);
    thread.last = last_id_;
    take_effect(thread, instruction);
  }

  void own_attributes(AttributeWriter& attributes, const Instruction& instruction) const {
    if (instruction.lead > 0) {
      attributes.real("lead", static_cast<double>(instruction.lead));
    }
    if (instruction.cost > 0) {
      attributes.real("cost", static_cast<double>(instruction.cost));
    }
    switch (instruction.op) {
      case Opcode::RecordEvent:
      case Opcode::StreamWait:
        attributes.int64("stream", instruction.stream);
        attributes.uint64("event", instruction.operand);
        return;
      case Opcode::WaitEvent:
        return attributes.uint64("event", instruction.operand);
      case Opcode::WaitStream:
      case Opcode::Launch:
      case Opcode::Collective:
      case Opcode::StartLag:
        return attributes.int64("stream", instruction.stream);
      case Opcode::Post:
      case Opcode::Await:
        return attributes.uint64("flag", instruction.operand);
      default:
        return;
    }
  }

  void take_effect(Thread& thread, const Instruction& instruction) {
    switch (instruction.op) {
      case Opcode::RangeBegin:
        return thread.ranges.push_back(last_id_);
      case Opcode::RangeEnd:
        return thread.ranges.pop_back();
      case Opcode::Launch:
        return kernel_node(instruction);
      case Opcode::Collective:
        return communication_node(instruction);
      case Opcode::RecordEvent:
        events_[instruction.operand] = streams_[instruction.stream].tail();
        return;
      case Opcode::StreamWait: {
        Ids& waits = streams_[instruction.stream].waits_for;
        const Ids& awaited = events_[instruction.operand];
        waits.insert(waits.end(), awaited.begin(), awaited.end());
        return;
      }
      case Opcode::Post:
        return walk_.post(instruction.operand, last_id_);
      default:
        return;
    }
  }

  /// A node of the GPU for the launch that was written last.
  WireWriter gpu_node(NodeDraft draft, std::uint8_t on) {
    Stream& stream = streams_[on];
    draft.control = {last_id_};
    draft.data = stream.tail();
    draft.data.push_back(last_id_);
    WireWriter message = node(std::move(draft));
    stream.last = last_id_;
    stream.waits_for.clear();
    AttributeWriter attributes{message, 10};
    attributes.boolean("is_cpu_op", false);
    attributes.int64("stream", on);
    return message;
  }

  void kernel_node(const Instruction& instruction) {
    const std::uint32_t number =
        instruction.per_rank ? assignment_.kernel_slots[instruction.operand] : instruction.operand;
    const KernelCall& call = program_.kernels[number];
    const KernelTiming& timing = kernels_[number];
    if (timing.kind == KernelTiming::Kind::HostRows) {
      throw std::invalid_argument{fmt::format(
          "kernel '{}' reads or writes host memory itself: which links it uses cannot be said in a trace",
          call.name)};
    }
    const std::optional<CommunicationNote> note = notes_.of_launch ? notes_.of_launch(here_) : std::nullopt;
    const NodeType type = note ? NodeType::Collective : NodeType::Compute;
    WireWriter message = gpu_node({call.name, type, {}, {}, timing.seconds}, instruction.stream);
    AttributeWriter attributes{message, 10};
    if (note) {
      write_attributes(*note, attributes);
    }
    duration(attributes, timing.seconds);
    attributes.real("seconds", timing.seconds);
    attributes.text("dtype", data_type_name(call.type));
    if (const auto* copy = std::get_if<Memcpy>(&call.work)) {
      constexpr std::array kPaths{"host_to_device", "device_to_host", "device_to_device"};
      attributes.uint64("tensor_size", static_cast<std::uint64_t>(std::llround(copy->size.in_base_units())));
      attributes.text("copy", kPaths.at(static_cast<std::size_t>(copy->path)));
      attributes.boolean("pinned", copy->pinned);
      attributes.real("bytes", copy->size.in_base_units());
    }
    append_record(message, text_);
  }

  void communication_node(const Instruction& instruction) {
    const CollectiveCall& call =
        program_.collectives[instruction.per_rank ? assignment_.collective_slots[instruction.operand]
                                                  : instruction.operand];
    const double seconds = call.recorded ? call.recorded->in_base_units() : 0;  // of a replayed trace
    WireWriter message =
        gpu_node({to_string(call.kind), node_type_of(call), {}, {}, seconds}, instruction.stream);
    AttributeWriter attributes{message, 10};
    duration(attributes, seconds);
    if (!is_shared_) attributes.text("pg_name", fmt::format("{}", assignment_.groups[call.group] + 1));
    attributes.uint64("group", call.group);
    attributes.text("dtype", data_type_name(call.type));
    attributes.real("bytes", call.size.in_base_units());
    attributes.int32("peer", call.peer);
    calls_.write(attributes, call);
    if (!call.send_bytes.empty()) {
      attributes.reals("send_bytes", call.send_bytes);
    }
    if (call.recorded) {
      attributes.real("recorded_seconds", call.recorded->in_base_units());
    }
    append_record(message, text_);
  }

  const Job& job_;
  const RankAssignment& assignment_;
  const Program& program_;
  std::span<const KernelTiming> kernels_;
  CallAttributes calls_;
  NodeNotes notes_;
  bool is_shared_;
  NodePlace here_;  // of the host node that was written last
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::vector<Ids> events_;         // what their latest record waits for
  ThreadWalk<std::uint64_t> walk_;  // a post hands over its node
  std::uint64_t last_id_ = 0;
  std::string text_;
};

}  // namespace

std::string_view name_of_opcode(Opcode op) {
  constexpr std::array<std::string_view, 13> kNames{
      "host_work",  "range_begin", "range_end",   "launch", "collective", "record_event", "stream_wait",
      "wait_event", "wait_stream", "wait_device", "post",   "await",      "start_lag"};
  return kNames.at(static_cast<std::size_t>(op));
}

std::string trace_of_rank(const Job& job, std::uint32_t rank, std::span<const KernelTiming> kernels,
                          const TraceContent& content) {
  return RankWriter{job, rank, kernels, content}.write(content.has_launches);
}

}  // namespace lockstep::chakra
