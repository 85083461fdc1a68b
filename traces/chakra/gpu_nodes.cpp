#include "traces/chakra/gpu_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ops/model_flops.hpp"
#include "ops/thread_walk.hpp"
#include "traces/chakra/call_attributes.hpp"
#include "traces/chakra/record_writer.hpp"

namespace lockstep::chakra {
namespace {

using NodeSet = std::set<std::uint64_t>;

constexpr double kMicroseconds = 1e6;

/// Writes the GPU's nodes of one rank's Program.
class GpuWriter {
 public:
  GpuWriter(const Job& job, std::uint32_t rank, std::span<const KernelTiming> kernels)
      : assignment_{job.ranks[rank]},
        program_{*job.programs[assignment_.program]},
        kernels_{kernels},
        calls_{job, rank},
        threads_(program_.threads.size()),
        streams_(program_.streams.size()),
        events_(program_.events),
        walk_{program_} {}

  std::string write() && {
    WireWriter metadata;
    metadata.bytes(1, "0.0.4");
    append_record(metadata, text_);
    walk_.run([this](std::size_t thread, std::size_t /*number*/, const Instruction& instruction) {
      take(thread, instruction);
    });
    return std::move(text_);
  }

 private:
  /// The last node of each stream whose end was waited for; those before it ended earlier.
  using Seen = std::map<std::uint8_t, std::uint64_t>;

  struct Thread {
    Seen seen;                          // what its later launches follow
    std::map<std::uint8_t, Seen> told;  // by stream: of that, what its last node follows already
  };
  struct Stream {
    std::uint64_t last = 0;  // node; 0: none
    NodeSet waits_for;
    [[nodiscard]] NodeSet tail() const {
      NodeSet ids = waits_for;
      if (last != 0) ids.insert(last);
      return ids;
    }
  };

  void take(std::size_t number, const Instruction& instruction) {
    Thread& thread = threads_[number];
    switch (instruction.op) {
      case Opcode::Launch:
        return kernel(thread, instruction);
      case Opcode::Collective:
        return communication(thread, instruction);
      case Opcode::RecordEvent:
        events_[instruction.operand] = streams_[instruction.stream].tail();
        return;
      case Opcode::StreamWait:
        return streams_[instruction.stream].waits_for.merge(NodeSet{events_[instruction.operand]});
      case Opcode::WaitEvent:
        return see(thread, events_[instruction.operand]);
      case Opcode::WaitStream:
        return see(thread, streams_[instruction.stream].tail());
      case Opcode::WaitDevice:
        for (const Stream& stream : streams_) see(thread, stream.tail());
        return;
      case Opcode::Post:
        return walk_.post(instruction.operand, thread.seen);
      case Opcode::Await:
        for (const auto& [stream, id] : walk_.await(number, instruction.operand)) {
          see(thread, NodeSet{id});
        }
        return;
      default:
        return;
    }
  }

  void see(Thread& thread, const NodeSet& ids) const {
    for (const std::uint64_t id : ids) {
      std::uint64_t& last = thread.seen[stream_of_[id - 1]];
      last = std::max(last, id);
    }
  }

  WireWriter node(Thread& thread, std::uint8_t on, std::string_view name, NodeType type, double seconds) {
    Stream& stream = streams_[on];
    NodeSet data = stream.tail();
    Seen& told = thread.told[on];
    for (const auto& [of, id] : thread.seen) {
      if (told[of] < id) data.insert(id);
    }
    told = thread.seen;
    WireWriter message;
    message.number(1, ++last_id_).bytes(2, name).number(3, static_cast<std::uint64_t>(type));
    const std::vector<std::uint64_t> list(data.begin(), data.end());
    message.packed(5, list);
    if (type == NodeType::Compute) {
      message.number(7, static_cast<std::uint64_t>(std::max(1LL, std::llround(seconds * kMicroseconds))));
    }
    stream.last = last_id_;
    stream_of_.push_back(on);
    stream.waits_for.clear();
    AttributeWriter{message, 10}.boolean("is_cpu_op", false);
    return message;
  }

  void kernel(Thread& thread, const Instruction& instruction) {
    const std::uint32_t number =
        instruction.per_rank ? assignment_.kernel_slots[instruction.operand] : instruction.operand;
    const KernelCall& call = program_.kernels[number];
    WireWriter message =
        node(thread, instruction.stream, call.name, NodeType::Compute, kernels_[number].seconds);
    AttributeWriter attributes{message, 10};
    if (const double operations = model_flops(call).in_base_units(); operations > 0) {
      attributes.int64("num_ops", std::llround(operations));
    }
    if (const auto* copy = std::get_if<Memcpy>(&call.work)) {
      attributes.uint64("tensor_size", static_cast<std::uint64_t>(std::llround(copy->size.in_base_units())));
    }
    append_record(message, text_);
  }

  void communication(Thread& thread, const Instruction& instruction) {
    const CollectiveCall& call =
        program_.collectives[instruction.per_rank ? assignment_.collective_slots[instruction.operand]
                                                  : instruction.operand];
    WireWriter message = node(thread, instruction.stream, to_string(call.kind), node_type_of(call), 0);
    AttributeWriter attributes{message, 10};
    attributes.text("pg_name", fmt::format("{}", assignment_.groups[call.group] + 1));
    calls_.write(attributes, call);
    append_record(message, text_);
  }

  const RankAssignment& assignment_;
  const Program& program_;
  std::span<const KernelTiming> kernels_;
  CallAttributes calls_;
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::vector<NodeSet> events_;          // what their latest record waits for
  ThreadWalk<Seen> walk_;                // a post hands over what its thread had seen
  std::vector<std::uint8_t> stream_of_;  // by node
  std::uint64_t last_id_ = 0;
  std::string text_;
};

}  // namespace

std::string gpu_trace_of_rank(const Job& job, std::uint32_t rank, std::span<const KernelTiming> kernels) {
  return GpuWriter{job, rank, kernels}.write();
}

}  // namespace lockstep::chakra
