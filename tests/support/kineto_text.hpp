#pragma once

/// @file
/// Small profiles (Kineto) written by hand, an event a call. Times in microseconds.

#include <fmt/format.h>

#include <string>

namespace lockstep::testing {

class KinetoText {
 public:
  explicit KinetoText(int rank = 0, int ranks = 1) : rank_{rank}, ranks_{ranks} {}

  KinetoText& call(const std::string& name, int start, int duration, int correlation = 0, int thread = 1) {
    return add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":9,"tid":{},"ts":{},"dur":{},"args":{{"correlation":{}}}}})",
        name, thread, start, duration, correlation));
  }
  /// @param rest further arguments, e.g. `,"Group size":2`
  KinetoText& kernel(const std::string& name, int start, int duration, int stream, int correlation,
                     const std::string& rest = "") {
    return add(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"device":0,"stream":{},"correlation":{}{}}}}})",
        name, stream, start, duration, stream, correlation, rest));
  }
  /// @param dims `Input Dims` as JSON; empty: none
  KinetoText& op(const std::string& name, int start, int duration, int thread = 1,
                 const std::string& dims = "") {
    return add(fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":9,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", name,
        thread, start, duration,
        dims.empty() ? "" : fmt::format(R"("Input Dims":{},"Input type":["float"])", dims)));
  }
  [[nodiscard]] std::string text() const {
    return fmt::format(
               R"({{"distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}},"traceEvents":[)", rank_,
               ranks_) +
           events_ + "]}";
  }

 private:
  KinetoText& add(const std::string& event) {
    events_ += events_.empty() ? event : ",\n" + event;
    return *this;
  }
  int rank_, ranks_;
  std::string events_;
};

/// Arguments of a message of FP32 in a group of all ranks. @param peer `"Dst Rank":1` of a send,
/// `"Src Rank":0` of a receive
inline std::string message(const std::string& name, int elements, const std::string& peer) {
  return fmt::format(
      R"(,"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"dtype":"Float","Process Group Name":"pp",{})",
      name, elements, elements, peer);
}

/// Arguments of an all-reduce of FP32.
inline std::string all_reduced(int elements, int ranks) {
  return fmt::format(
      R"(,"Collective name":"allreduce","In msg nelems":{0},"Out msg nelems":{0},"Group size":{1},"dtype":"Float")",
      elements, ranks);
}

}  // namespace lockstep::testing
