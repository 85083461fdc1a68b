#pragma once

/// @file
/// Communication between ranks by NCCL.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "generate/runtime/device.cuh"
#include "generate/runtime/table.hpp"

namespace benchmark {

/// How ranks learn the ids of their communicators: by files in a folder that all of them see, or in one
/// process.
class Rendezvous {
 public:
  /// @param folder empty: all ranks are in this process
  explicit Rendezvous(std::string folder) : folder_{std::move(folder)} {}
  /// The bytes that the first rank makes and all ranks get. @throws Failure when nobody makes them for a
  /// minute
  [[nodiscard]] std::string bytes(const std::string& key, bool is_first,
                                  const std::function<std::string()>& make);

 private:
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

/// A collective as one rank's instruction calls it.
struct CollectiveUse {
  const Collective* call = nullptr;
  const Group* group = nullptr;
  std::uint32_t group_number = 0;
  std::vector<double> receive_bytes;  ///< uneven all-to-all: from each member
};

/// The collectives of a rank's program in the order of its threads and instructions.
/// @throws Failure where members of a group do not call it alike
[[nodiscard]] std::vector<CollectiveUse> collectives_of(const Table& table, std::uint32_t rank);

/// The communicators of one rank.
class Communicators {
 public:
  Communicators(Device& device, const Table& table, std::uint32_t rank, Rendezvous& rendezvous);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Returns the launch of @p use. The first call makes the communicator: all members do so in one order.
  [[nodiscard]] Launch make(const CollectiveUse& use);

  /// Brackets sends and receives that NCCL issues as one group.
  static void begin_batch();
  static void end_batch();

 private:
  struct Communicator;
  [[nodiscard]] Launch make_meeting(const CollectiveUse& use);
  Communicator& communicator(const CollectiveUse& use);
  void connect(Communicator& made, const std::string& key, const std::vector<std::uint32_t>& members);

  Device& device_;
  std::uint32_t rank_;
  Rendezvous& rendezvous_;
  std::map<std::string, std::unique_ptr<Communicator>> known_;
};

}  // namespace benchmark
