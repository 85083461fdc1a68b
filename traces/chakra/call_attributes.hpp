#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "ops/job.hpp"
#include "traces/chakra/node_record.hpp"
#include "traces/chakra/wire_writer.hpp"

namespace lockstep::chakra {

/// COMM_SEND, COMM_RECV or COMM_COLL.
[[nodiscard]] NodeType node_type_of(const CollectiveCall& call);

/// Attributes of a rank's communication nodes that other tools read, in the order of its calls.
class CallAttributes {
 public:
  /// @param is_shared by ranks that do alike: messages do not say between whom
  CallAttributes(const Job& job, std::uint32_t rank, bool is_shared = false)
      : job_{job}, rank_{rank}, is_shared_{is_shared} {}

  /// `comm_size`: what a rank puts in; of messages `comm_src`, `comm_dst` and a tag that both ends give the
  /// same message, of collectives `comm_type`.
  void write(AttributeWriter& attributes, const CollectiveCall& call);

 private:
  const Job& job_;
  std::uint32_t rank_;
  bool is_shared_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> messages_;
};

}  // namespace lockstep::chakra
