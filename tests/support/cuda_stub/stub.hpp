#pragma once

/// @file
/// The parts of the stub share this: streams are queues that a virtual clock goes through (device.cpp).

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace stub {

/// Something that several streams take part in, or one sends and another receives.
struct Meeting {
  std::string name;  // who meets, and which time
  std::string what;  // the same for all
  int needed = 0, arrived = 0;
  double last = 0;  // arrival
};

struct Work {
  enum Kind { kTakesTime, kRecord, kWait, kMeets } kind = kTakesTime;
  double seconds = 0, issued = 0;
  StubEvent* event = nullptr;
  std::uint64_t version = 0;
  std::vector<Meeting*> meetings;
  bool has_arrived = false;
};

extern std::mutex device_mutex;  // of all that follows

/// One line of the log, for the device of this thread; device_mutex is held.
void note(const std::string& text);

/// Puts work on a stream; device_mutex is held.
void put(cudaStream_t stream, Work work);

/// A kernel takes the time that the range around it names; takes device_mutex.
void put_kernel(cudaStream_t stream, const std::string& text);

/// Whether this thread captures a graph: @p call is then done when the graph is launched, on its stream;
/// device_mutex is held.
bool captured(const std::function<void(cudaStream_t)>& call);

[[noreturn]] void give_up(const std::string& reason);

}  // namespace stub
