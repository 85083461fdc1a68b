/// @file
/// NCCL of the stub, within one process: what meets must meet alike.

#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nccl.h"
#include "stub.hpp"

struct StubGroup {
  std::map<std::string, stub::Meeting*> open;  // by who meets, and which time
};

struct StubCommunicator {
  StubGroup* group;
  int rank, size;
  std::map<std::string, int> calls;  // by kind of meeting: how often
};

namespace {

using stub::device_mutex;
using stub::give_up;
using stub::Meeting;
using stub::note;
using stub::put;
using stub::Work;

std::list<Meeting> meetings;
std::map<std::string, StubGroup> groups;
thread_local int batch_depth = 0;
thread_local std::vector<std::pair<cudaStream_t, std::vector<Meeting*>>> batch;

std::size_t bytes_of(ncclDataType_t type) {
  constexpr std::size_t kBytes[] = {1, 4, 8, 2, 2, 4};
  return kBytes[type];
}

void put_meeting(cudaStream_t stream, Meeting* meeting) {
  if (batch_depth == 0) {
    put(stream, {.kind = Work::kMeets, .meetings = {meeting}});
    return;
  }
  if (batch.empty() || batch.back().first != stream) {
    batch.push_back({stream, {}});
  }
  batch.back().second.push_back(meeting);
}

/// The meeting of this name, which all that come must call alike.
void meet(ncclComm_t communicator, const std::string& who, const std::string& what, int needed,
          cudaStream_t stream, const char* part = "") {
  const std::string key = who + "#" + std::to_string(communicator->calls[who + part]++);
  Meeting*& meeting = communicator->group->open[key];
  if (meeting == nullptr) {
    meeting = &meetings.emplace_back(Meeting{.name = key, .what = what, .needed = needed});
  } else if (meeting->what != what) {
    give_up("members call differently: '" + meeting->what + "' and '" + what + "'");
  }
  put_meeting(stream, meeting);
}

void now_or_captured(cudaStream_t stream, const std::function<void(cudaStream_t)>& call) {
  const std::lock_guard lock{device_mutex};
  if (!stub::captured(call)) {
    call(stream);
  }
}

ncclResult_t collective(const char* kind, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  const std::string text = std::string{kind} + " " + std::to_string(count * bytes_of(type)) + " " +
                           std::to_string(communicator->size) + " " + std::to_string(root);
  now_or_captured(stream, [=](cudaStream_t on) {
    note("nccl " + text);
    meet(communicator, "all", text, communicator->size, on);
  });
  return ncclSuccess;
}

ncclResult_t message(bool sends, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                     cudaStream_t stream) {
  const int from = sends ? communicator->rank : peer;
  const int to = sends ? peer : communicator->rank;
  const std::string bytes = std::to_string(count * bytes_of(type));
  now_or_captured(stream, [=](cudaStream_t on) {
    note(std::string{"nccl "} + (sends ? "send " : "receive ") + bytes + " " +
         std::to_string(communicator->size) + " " + std::to_string(peer));
    if (peer < 0 || peer >= communicator->size) {
      give_up("a message to a rank that is not in the communicator");
    }
    meet(communicator, std::to_string(from) + ">" + std::to_string(to), bytes, 2, on,
         sends ? "sends" : "receives");
  });
  return ncclSuccess;
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t) {
  return "stub";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 0;
  const std::lock_guard lock{device_mutex};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "id%d", next++);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  const std::lock_guard lock{device_mutex};
  *made = new StubCommunicator{&groups[id.internal], rank, ranks, {}};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t made) {
  delete made;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  now_or_captured(nullptr, [](cudaStream_t) { ++batch_depth; });
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  now_or_captured(nullptr, [](cudaStream_t) {
    if (--batch_depth == 0) {
      for (auto& [stream, together] : batch) {
        put(stream, {.kind = Work::kMeets, .meetings = std::move(together)});
      }
      batch.clear();
    }
  });
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("all_reduce", count, type, 0, communicator, stream);
}
ncclResult_t ncclAllGather(const void*, void*, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("all_gather", count, type, 0, communicator, stream);
}
ncclResult_t ncclReduceScatter(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t communicator, cudaStream_t stream) {
  return collective("reduce_scatter", count, type, 0, communicator, stream);
}
ncclResult_t ncclBroadcast(const void*, void*, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  return collective("broadcast", count, type, root, communicator, stream);
}
ncclResult_t ncclReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  return collective("reduce", count, type, root, communicator, stream);
}
ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return message(true, count, type, peer, communicator, stream);
}
ncclResult_t ncclRecv(void*, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return message(false, count, type, peer, communicator, stream);
}
