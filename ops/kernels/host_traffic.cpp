#include "ops/kernels/host_traffic.hpp"

#include <algorithm>
#include <variant>

#include "ops/kernels/embedding_rows.hpp"

namespace lockstep {
namespace {

struct TrafficOf {
  double element;  // bytes

  HostTraffic operator()(const Memcpy& copy) const {
    if (copy.path == Memcpy::Path::HostToDevice) return {.to_device = copy.size, .to_host = {}};
    if (copy.path == Memcpy::Path::DeviceToHost) return {.to_device = {}, .to_host = copy.size};
    return {};
  }
  HostTraffic operator()(const EmbeddingBags& bags) const {
    HostTraffic sum;
    for (const EmbeddingTable& table : bags.tables) {
      if (table.location == TableLocation::Gpu) continue;
      const BatchRows rows = batch_rows(table, static_cast<double>(bags.batch) * table.pooling_factor);
      const double row = row_bytes(table, element);
      if (bags.direction == Direction::Forward) {
        sum.to_device += Bytes{rows.host_lookups * row};
      } else {
        sum += {Bytes{rows.host_distinct * row}, Bytes{rows.host_distinct * row}};
      }
    }
    return sum;
  }
  HostTraffic operator()(const EmbeddingCacheInsert& insert) const {
    HostTraffic sum;
    for (const EmbeddingTable& table : insert.tables) {
      const BatchRows rows = batch_rows(table, static_cast<double>(insert.batch) * table.pooling_factor);
      const Bytes moved{rows.inserted * row_bytes(table, element)};
      sum += {moved, moved};
    }
    return sum;
  }
  HostTraffic operator()(const auto& /*on the GPU alone*/) const { return {}; }
};

}  // namespace

HostTraffic host_traffic(const KernelCall& call) {
  return std::visit(TrafficOf{size_of(call.type) / Bytes{1}}, call.work);
}

bool needs_copy_engine(const KernelCall& call) {
  const auto* copy = std::get_if<Memcpy>(&call.work);
  if (copy == nullptr) return false;
  const bool in_commands =
      !copy->pinned && copy->path == Memcpy::Path::HostToDevice && copy->size <= kCopyInCommands;
  return !in_commands;
}

Seconds time_over_pcie(const HostTraffic& traffic, const GpuSpec& gpu) {
  return std::max(traffic.to_device, traffic.to_host) / gpu.host_copy.pinned;
}

bool fills_requests(const std::vector<EmbeddingTable>& tables, double element) {
  constexpr double kRequest = 128;
  return std::ranges::all_of(tables, [&](const EmbeddingTable& table) {
    return table.location == TableLocation::Gpu || row_bytes(table, element) >= kRequest;
  });
}

}  // namespace lockstep
