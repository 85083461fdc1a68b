#include "generate/runtime/operands.cuh"

namespace benchmark {
namespace {

constexpr std::size_t kMostPlaces = 64;  // of a kernel; what lies behind them is taken from arenas

struct Binding {
  const Operands* operands = nullptr;
  std::uint64_t read = 0, written = 0;  // a bit for each place that is taken
};

thread_local Binding binding;

}  // namespace

BoundOperands::BoundOperands(const Operands& operands) {
  binding = {&operands, 0, 0};
}

BoundOperands::~BoundOperands() {
  binding = {};
}

char* BoundOperands::take(bool writes, std::int64_t bytes) {
  if (binding.operands == nullptr) {
    return nullptr;
  }
  const std::vector<OperandPlace>& places = writes ? binding.operands->writes : binding.operands->reads;
  std::uint64_t& taken = writes ? binding.written : binding.read;
  const std::size_t count = places.size() < kMostPlaces ? places.size() : kMostPlaces;
  std::size_t best = count;
  for (std::size_t i = 0; i < count; ++i) {
    const bool fits = (taken >> i & 1U) == 0 && places[i].bytes >= bytes;
    if (fits && (best == count || places[i].bytes < places[best].bytes)) {
      best = i;
    }
  }
  if (best == count) {
    return nullptr;
  }
  taken |= std::uint64_t{1} << best;
  return places[best].address;
}

}  // namespace benchmark
