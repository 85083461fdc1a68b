#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// Reads traces in threads of their own, a few ahead of who takes them, and gives them out in order. What
/// comes out, the first error included, does not depend on the number of threads.
class ReadAhead {
 public:
  /// @param threads at least one; more than files are not started
  ReadAhead(std::vector<std::filesystem::path> files, std::size_t threads);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The next file's trace, its kinds and calls numbered by @p tables, the same at every call; valid until
  /// the next call.
  /// @throws InputError as read_graph()
  const TraceGraph& next(TraceTables& tables);

 private:
  /// A trace with the names that its reader met for the first time, in the order of their numbers.
  struct Reading {
    TraceGraph graph;
    std::vector<std::string> kinds;
    std::vector<TraceTables::Call> calls;
    std::exception_ptr problem;
  };
  /// A thread that reads every threads-th file.
  struct Reader {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Reading> ready;
    std::vector<Reading> spare;  // memory to use again
    bool stopped = false;
    // Numbers in the tables of the one who takes the traces, by the reader's numbers.
    std::vector<std::uint32_t> kinds;
    std::vector<std::uint32_t> calls;
    std::thread thread;
  };

  void read_every(Reader& reader, std::size_t first);
  static void renumber(Reader& reader, TraceTables& tables, Reading& reading);

  std::vector<std::filesystem::path> files_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::size_t next_ = 0;
  Reading current_;
};

}  // namespace lockstep::chakra
