#include "ops/collectives/request_check.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

namespace lockstep {
namespace {

/// Size of a barrier: one element of an all-reduce, as PyTorch's ProcessGroupNCCL sends.
constexpr Bytes kBarrierMessage{4};

void check_position(CollectiveKind kind, const char* what, int position, std::size_t members) {
  if (position < 0 || static_cast<std::size_t>(position) >= members) {
    reject_request(kind, fmt::format("{} {} is not a position in a group of {}", what, position, members));
  }
}

void check_matrix(const CollectiveRequest& request, std::size_t members) {
  if (request.kind != CollectiveKind::AllToAll) {
    reject_request(request.kind, "only an all-to-all has a byte matrix");
  }
  if (request.bytes.size() != members * members) {
    reject_request(request.kind, fmt::format("{} byte counts for a group of {}, which needs {}",
                                             request.bytes.size(), members, members * members));
  }
  for (const double bytes : request.bytes) {
    if (!(bytes >= 0)) {
      reject_request(request.kind, "a byte count is negative");
    }
  }
}

}  // namespace

void reject_request(CollectiveKind kind, const std::string& what) {
  throw std::invalid_argument(to_string(kind) + ": " + what);
}

void check_request(const CollectiveRequest& request, std::size_t members) {
  const CollectiveKind kind = request.kind;
  if (request.size < Bytes{0}) {
    reject_request(kind, "the size is negative");
  }
  check_position(kind, "root", request.root, members);
  check_position(kind, "source", request.source, members);
  const bool is_message = kind == CollectiveKind::Send || kind == CollectiveKind::Receive;
  if (is_message && request.root == request.source) {
    reject_request(kind, "sender and receiver are the same member");
  }
  if (!request.bytes.empty()) {
    check_matrix(request, members);
  }
}

CollectiveRequest normalised(CollectiveRequest request, std::size_t members) {
  if (request.kind == CollectiveKind::Barrier) {
    request.kind = CollectiveKind::AllReduce;
    request.size = kBarrierMessage;
  }
  if (!request.bytes.empty()) {
    request.size = Bytes{std::accumulate(request.bytes.begin(), request.bytes.end(), 0.0) /
                         static_cast<double>(members)};
  }
  return request;
}

}  // namespace lockstep
