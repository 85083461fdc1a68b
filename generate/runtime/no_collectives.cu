#include "generate/runtime/collectives.cuh"

// Replaces collectives.cu in a program that never communicates: it needs no NCCL.

namespace benchmark {

struct Communicators::Communicator {};

std::vector<CollectiveUse> collectives_of(const Table& table, std::uint32_t rank) {
  for (const Collective& call : table.programs.at(table.ranks.at(rank).program).collectives) {
    fail("this program was written for a table without collectives, and it has " + call.kind,
         "operations.txt");
  }
  return {};
}

Communicators::Communicators(Device& device, const Table& /*table*/, std::uint32_t rank,
                             Rendezvous& rendezvous)
    : device_{device}, rank_{rank}, rendezvous_{rendezvous} {}
Communicators::~Communicators() = default;

Launch Communicators::make(const CollectiveUse& /*use*/) {
  return {};
}
void Communicators::begin_batch() {}
void Communicators::end_batch() {}

}  // namespace benchmark
