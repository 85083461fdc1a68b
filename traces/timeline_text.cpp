#include "traces/timeline_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "traces/json_text.hpp"
#include "traces/kernel_shapes.hpp"

namespace lockstep {
namespace {

std::string slice_head(std::string_view category, std::string_view name, std::string_view members) {
  return fmt::format(R"(,
{{"ph":"X","cat":"{}","name":{},"args":{{{})",
                     category, json_string(name), members);
}

std::string runtime_slice(RuntimeName call) {
  return slice_head("cuda_runtime", call.name, fmt::format(R"("cbid":{},"External id":)", call.cbid));
}

using RuntimeHeads = std::array<std::string, static_cast<std::size_t>(Opcode::Await) + 1>;

RuntimeHeads make_runtime_heads() {
  RuntimeHeads heads;
  for (std::size_t op = 0; op < heads.size(); ++op) {
    heads[op] = runtime_slice(runtime_name(static_cast<Opcode>(op), nullptr));
  }
  // Threads that wait for each other do so in Python or C++, not in the CUDA runtime.
  heads[static_cast<std::size_t>(Opcode::Await)] =
      slice_head("user_annotation", "wait for another thread", R"("External id":)");
  return heads;
}

}  // namespace

std::uint32_t stream_number(const Program& program, std::size_t stream) {
  constexpr std::uint32_t kDefaultStream = 7;
  constexpr std::uint32_t kFirstOther = 20;
  const auto named = std::find(program.streams.begin(), program.streams.end(), "compute");
  const auto compute =
      named == program.streams.end() ? 0 : static_cast<std::size_t>(named - program.streams.begin());
  if (stream == compute) {
    return kDefaultStream;
  }
  return kFirstOther + static_cast<std::uint32_t>(stream < compute ? stream : stream - 1);
}

const std::string& runtime_head(Opcode op) {
  static const RuntimeHeads heads = make_runtime_heads();
  return heads[static_cast<std::size_t>(op)];
}

std::string noise_slice(const std::string& name) {
  return slice_head("user_annotation", "noise: " + name, R"("External id":)");
}

std::string group_members(const ProcessGroup& group) {
  // Lists are cut after 30 elements, as the profiler does (kTruncatLength in torch/csrc/profiler/util.cpp).
  constexpr std::size_t kShown = 30;
  const std::span shown{group.ranks.data(), std::min(kShown, group.ranks.size())};
  return fmt::format(R"("Group size":{},"Process Group Name":{},"Process Group Ranks":"[{}{}]",)",
                     group.ranks.size(), json_string(group.name), fmt::join(shown, ", "),
                     group.ranks.size() > kShown ? ", ..." : "");
}

ProgramText::ProgramText(const Program& program, const RankAssignment& rank, NcclNames names) {
  for (const KernelCall& kernel : program.kernels) {
    kernels.push_back(
        slice_head(category_of(kernel), slice_name(kernel), shape_members(kernel) + R"("context":1,)"));
    launch_heads.push_back(runtime_slice(runtime_name(Opcode::Launch, &kernel)));
  }
  for (const CollectiveCall& call : program.collectives) {
    collectives.push_back(
        slice_head("kernel", slice_name(call, names), collective_members(call) + R"("context":1,)"));
  }
  for (const std::string& name : program.names) {
    names_steps = names_steps || name.starts_with("ProfilerStep#");
    ranges.push_back(
        slice_head(names_operator(name) ? "cpu_op" : "user_annotation", name, R"("External id":)"));
  }
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    const std::uint32_t number = stream_number(program, i);
    streams.push_back({fmt::format(R"(,"stream":{0}}},"tid":{0},"pid":)", number),
                       fmt::format(R"(,"tid":{},"pid":)", number)});
  }
  collectives_per_step.assign(program.groups.size(), 0);
  add_places(program, rank);
}

void ProgramText::add_places(const Program& program, const RankAssignment& rank) {
  for (const Program::Thread& thread : program.threads) {
    std::vector<Place>& places = places_.emplace_back();
    places.reserve(thread.instructions.size());
    std::vector<std::uint32_t> open{0};
    for (const Instruction& instruction : thread.instructions) {
      Place place{open.back(), 0};
      if (instruction.op == Opcode::RangeBegin) {
        place.scope = ++scopes_per_step;
        open.push_back(place.scope);
      } else if (instruction.op == Opcode::HostWork) {
        place.scope = ++scopes_per_step;
      } else if (instruction.op == Opcode::RangeEnd && open.size() > 1) {
        open.pop_back();
      } else if (instruction.op == Opcode::Collective) {
        const std::uint32_t call =
            instruction.per_rank ? rank.collective_slots[instruction.operand] : instruction.operand;
        place.sequence = collectives_per_step[program.collectives[call].group]++;
      }
      places.push_back(place);
    }
  }
}

}  // namespace lockstep
