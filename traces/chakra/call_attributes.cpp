#include "traces/chakra/call_attributes.hpp"

#include <cmath>

#include "traces/chakra/collective_kinds.hpp"

namespace lockstep::chakra {

NodeType node_type_of(const CollectiveCall& call) {
  return call.kind == CollectiveKind::Send      ? NodeType::Send
         : call.kind == CollectiveKind::Receive ? NodeType::Receive
                                                : NodeType::Collective;
}

void CallAttributes::write(AttributeWriter& attributes, const CollectiveCall& call) {
  const std::uint32_t group = job_.ranks[rank_].groups[call.group];
  const auto& members = job_.groups[group].ranks;
  // The bytes that a rank puts in: of an all-gather its part of what all have in the end.
  const double parts = call.kind == CollectiveKind::AllGather ? static_cast<double>(members.size()) : 1;
  attributes.int64("comm_size", std::llround(call.size.in_base_units() / parts));
  const NodeType type = node_type_of(call);
  if (type == NodeType::Collective) {
    attributes.int64("comm_type", comm_type_of(call.kind));
    return;
  }
  if (is_shared_) return;
  // The tag: the how-manieth message between them in their group.
  const std::uint32_t peer = members[static_cast<std::size_t>(call.peer)];
  const std::uint32_t source = type == NodeType::Send ? rank_ : peer;
  const std::uint32_t target = type == NodeType::Send ? peer : rank_;
  const std::uint64_t tag = messages_[{group, source, target}]++ * job_.groups.size() + group;
  attributes.int32("comm_src", static_cast<std::int32_t>(source));
  attributes.int32("comm_dst", static_cast<std::int32_t>(target));
  attributes.int32("comm_tag", static_cast<std::int32_t>(tag & 0x7fffffffU));
}

}  // namespace lockstep::chakra
