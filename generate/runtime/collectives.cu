#include "generate/runtime/collectives.cuh"

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

void check(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) {
    fail(ncclGetErrorString(status), call);
  }
}

#define BENCHMARK_CHECK_NCCL(call) check((call), #call)

ncclDataType_t nccl_type(const std::string& type) {
  return type == "fp16"    ? ncclFloat16
         : type == "bf16"  ? ncclBfloat16
         : type == "int32" ? ncclInt32
         : type == "int64" ? ncclInt64
         : type == "fp32"  ? ncclFloat32
         : type == "tf32"  ? ncclFloat32
                           : ncclUint8;
}

bool is_message(const std::string& kind) {
  return kind == "send" || kind == "receive";
}

std::size_t whole(double bytes) {
  return static_cast<std::size_t>(std::max(bytes, 0.0) + 0.5);
}

const Collective& called(const Program& program, const Rank& rank, const Instruction& instruction) {
  return program.collectives.at(instruction.per_rank ? rank.collective_slots.at(instruction.operand)
                                                     : instruction.operand);
}

/// Calls @p use with each collective that a step of the rank calls.
template <class Use>
void for_each_collective(const Table& table, std::uint32_t number, const Use& use) {
  const Rank& rank = table.ranks.at(number);
  const Program& program = table.programs.at(rank.program);
  for (const Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Collective) {
        const Collective& call = called(program, rank, instruction);
        use(call, rank.groups.at(call.group));
      }
    }
  }
}

/// Uneven all-to-alls that a rank calls in a group, in order.
std::vector<const Collective*> uneven_of(const Table& table, std::uint32_t rank, std::uint32_t group) {
  std::vector<const Collective*> found;
  for_each_collective(table, rank, [&](const Collective& call, std::uint32_t of) {
    if (of == group && !call.send_bytes.empty()) {
      found.push_back(&call);
    }
  });
  return found;
}

std::vector<double> received(const Table& table, const CollectiveUse& use, std::uint32_t rank,
                             std::size_t ordinal) {
  const auto& members = use.group->ranks;
  const auto me = static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  std::vector<double> bytes;
  for (const std::uint32_t member : members) {
    const std::vector<const Collective*> theirs = uneven_of(table, member, use.group_number);
    if (ordinal >= theirs.size() || me >= theirs[ordinal]->send_bytes.size()) {
      fail("rank " + std::to_string(member) + " does not call all-to-all " + std::to_string(ordinal) +
               " of its group as rank " + std::to_string(rank) + " does",
           "operations.txt");
    }
    bytes.push_back(theirs[ordinal]->send_bytes[me]);
  }
  return bytes;
}

}  // namespace

std::string Rendezvous::bytes(const std::string& key, bool is_first,
                              const std::function<std::string()>& make) {
  constexpr auto kPatience = std::chrono::seconds{60};
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  const std::string file = folder_ + "/" + key;
  if (is_first) {
    const std::string made = make();
    if (folder_.empty()) {
      const std::lock_guard lock{mutex_};
      known_[key] = made;
    } else {
      std::ofstream{file + ".new", std::ios::binary} << made;
      std::rename((file + ".new").c_str(), file.c_str());
    }
    return made;
  }
  while (std::chrono::steady_clock::now() < give_up) {
    if (folder_.empty()) {
      const std::lock_guard lock{mutex_};
      if (const auto found = known_.find(key); found != known_.end()) {
        return found->second;
      }
    } else if (std::ifstream stream{file, std::ios::binary}; stream) {
      return {std::istreambuf_iterator<char>{stream}, {}};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  fail("the first rank of communicator " + key + " did not come", "ncclGetUniqueId");
}

std::vector<CollectiveUse> collectives_of(const Table& table, std::uint32_t rank) {
  std::vector<CollectiveUse> uses;
  std::map<std::uint32_t, std::size_t> uneven;  // by group: how many so far
  for_each_collective(table, rank, [&](const Collective& call, std::uint32_t group) {
    CollectiveUse use;
    use.call = &call;
    use.group = &table.groups.at(group);
    use.group_number = group;
    if (!call.send_bytes.empty()) {
      use.receive_bytes = received(table, use, rank, uneven[group]++);
    }
    uses.push_back(std::move(use));
  });
  return uses;
}

struct Communicators::Communicator {
  ncclComm_t handle = nullptr;
  int rank = 0, size = 1;
  std::mutex turn;  ///< one host thread at a time, or two deadlock
};

Communicators::Communicators(Device& device, const Table& table, std::uint32_t rank, Rendezvous& rendezvous)
    : device_{device}, rank_{rank}, rendezvous_{rendezvous} {
  // All members of a group connect before anybody launches, in the order of groups and pairs.
  for (std::uint32_t number = 0; number < table.groups.size(); ++number) {
    const Group& group = table.groups[number];
    bool meets = false;
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const std::uint32_t member : group.ranks) {
      for_each_collective(table, member, [&](const Collective& call, std::uint32_t of) {
        if (of != number) {
          return;
        }
        if (is_message(call.kind) && !call.batched) {
          const std::uint32_t other = group.ranks.at(static_cast<std::size_t>(call.peer));
          pairs.emplace(std::min(member, other), std::max(member, other));
        } else {
          meets = true;
        }
      });
    }
    const bool is_member = std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
    if (meets && is_member && group.ranks.size() > 1) {
      const std::string key = "group" + std::to_string(number);
      connect(*(known_[key] = std::make_unique<Communicator>()), key, group.ranks);
    }
    for (const auto& [low, high] : pairs) {
      if (low == rank || high == rank) {
        const std::string key =
            "group" + std::to_string(number) + "-" + std::to_string(low) + "-" + std::to_string(high);
        connect(*(known_[key] = std::make_unique<Communicator>()), key, {low, high});
      }
    }
  }
}

Communicators::~Communicators() {
  for (auto& [key, made] : known_) {
    if (made->handle != nullptr) {
      static_cast<void>(ncclCommDestroy(made->handle));
    }
  }
}

void Communicators::connect(Communicator& made, const std::string& key,
                            const std::vector<std::uint32_t>& members) {
  made.size = static_cast<int>(members.size());
  made.rank = static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
  const std::string bytes = rendezvous_.bytes(key, made.rank == 0, [] {
    ncclUniqueId id{};
    BENCHMARK_CHECK_NCCL(ncclGetUniqueId(&id));
    return std::string{reinterpret_cast<const char*>(&id), sizeof id};
  });
  ncclUniqueId id{};
  if (bytes.size() != sizeof id) {
    fail("the id of communicator " + key + " is damaged", "ncclGetUniqueId");
  }
  std::memcpy(&id, bytes.data(), sizeof id);
  BENCHMARK_CHECK_NCCL(ncclCommInitRank(&made.handle, made.size, id, made.rank));
}

Communicators::Communicator& Communicators::communicator(const CollectiveUse& use) {
  std::string key = "group" + std::to_string(use.group_number);
  if (is_message(use.call->kind) && !use.call->batched) {
    const std::uint32_t other = use.group->ranks.at(static_cast<std::size_t>(use.call->peer));
    key += "-" + std::to_string(std::min(rank_, other)) + "-" + std::to_string(std::max(rank_, other));
  }
  return *known_.at(key);
}

void Communicators::begin_batch() {
  BENCHMARK_CHECK_NCCL(ncclGroupStart());
}

void Communicators::end_batch() {
  BENCHMARK_CHECK_NCCL(ncclGroupEnd());
}

Launch Communicators::make(const CollectiveUse& use) {
  Launch meets = use.group->ranks.size() > 1 ? make_meeting(use) : Launch{};
  if (use.call->delay <= 0) {
    return meets ? meets : [](cudaStream_t) {};
  }
  return [meets, delay = make_delay(use.call->delay)](cudaStream_t stream) {
    if (meets) {
      meets(stream);
    }
    delay(stream);
  };
}

Launch Communicators::make_meeting(const CollectiveUse& use) {
  Communicator& comm = communicator(use);
  const std::string kind = use.call->kind;
  const std::string type = kind == "barrier" ? "uint8" : use.call->type;
  const ncclDataType_t element = nccl_type(type);
  const auto size = static_cast<std::size_t>(element == ncclUint8 ? 1 : bytes_of_type(type));
  const std::size_t all = std::max<std::size_t>(whole(use.call->bytes) / size, 1);
  const auto members = static_cast<std::size_t>(comm.size);
  const std::size_t part = std::max<std::size_t>(all / members, 1);
  std::vector<std::size_t> sent(members, part * size), received(members, part * size);
  if (!use.call->send_bytes.empty()) {
    std::transform(use.call->send_bytes.begin(), use.call->send_bytes.end(), sent.begin(), whole);
    std::transform(use.receive_bytes.begin(), use.receive_bytes.end(), received.begin(), whole);
  }
  std::size_t in = all * size;
  std::size_t out = all * size;
  for (std::size_t i = 0, to = 0, from = 0; i < members; ++i) {
    in = std::max(in, to += sent[i]);
    out = std::max(out, from += received[i]);
  }
  Arena& input = device_.input("fp32");
  Arena& output = device_.output();
  input.need(static_cast<std::int64_t>(in));
  output.need(static_cast<std::int64_t>(out));
  // The other end of a message by its number in the communicator: of a pair the other one.
  const int peer = is_message(kind) && !use.call->batched ? 1 - comm.rank : use.call->peer;
  return [=, &comm, &input, &output](cudaStream_t stream) {
    char* const from = input.take(static_cast<std::int64_t>(in));
    char* const to = output.take(static_cast<std::int64_t>(out));
    const std::lock_guard lock{comm.turn};
    if (kind == "all_reduce" || kind == "barrier") {
      BENCHMARK_CHECK_NCCL(ncclAllReduce(from, to, all, element, ncclSum, comm.handle, stream));
    } else if (kind == "all_gather") {
      BENCHMARK_CHECK_NCCL(ncclAllGather(from, to, part, element, comm.handle, stream));
    } else if (kind == "reduce_scatter") {
      BENCHMARK_CHECK_NCCL(ncclReduceScatter(from, to, part, element, ncclSum, comm.handle, stream));
    } else if (kind == "broadcast") {
      BENCHMARK_CHECK_NCCL(ncclBroadcast(from, to, all, element, peer, comm.handle, stream));
    } else if (kind == "reduce") {
      BENCHMARK_CHECK_NCCL(ncclReduce(from, to, all, element, ncclSum, peer, comm.handle, stream));
    } else if (kind == "send") {
      BENCHMARK_CHECK_NCCL(ncclSend(from, all, element, peer, comm.handle, stream));
    } else if (kind == "receive") {
      BENCHMARK_CHECK_NCCL(ncclRecv(to, all, element, peer, comm.handle, stream));
    } else {
      BENCHMARK_CHECK_NCCL(ncclGroupStart());
      std::size_t send_at = 0;
      std::size_t receive_at = 0;
      for (std::size_t i = 0; i < members; ++i) {
        const int other = static_cast<int>(i);
        if (sent[i] > 0) {
          BENCHMARK_CHECK_NCCL(ncclSend(from + send_at, sent[i], ncclUint8, other, comm.handle, stream));
        }
        if (received[i] > 0) {
          BENCHMARK_CHECK_NCCL(ncclRecv(to + receive_at, received[i], ncclUint8, other, comm.handle, stream));
        }
        send_at += sent[i];
        receive_at += received[i];
      }
      BENCHMARK_CHECK_NCCL(ncclGroupEnd());
    }
  };
}

}  // namespace benchmark
