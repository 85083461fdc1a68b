#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lockstep {

/// The processes of this run: those of mpirun, or this one alone. The first leads: it measures, writes, and
/// tells the others what to join in.
class Processes {
 public:
  /// Starts MPI where the program was built with it.
  Processes(int* count, char*** arguments);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  /// Ends MPI.
  ~Processes();

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int index_on_node() const { return index_on_node_; }
  [[nodiscard]] int count_on_node() const { return count_on_node_; }
  [[nodiscard]] bool leads() const { return index_ == 0; }

  /// The leader's @p text, on all. Every process calls it.
  [[nodiscard]] std::string from_leader(std::string text) const;
  /// The leader's bytes, on all.
  void from_leader(void* data, std::size_t bytes) const;
  /// The mean over all processes, the same bits on all; all wait for each other.
  [[nodiscard]] double mean(double value) const;
  /// Returns when all have come.
  void meet() const;

  /// Ends all processes after a failure: the others would wait for ever.
  [[noreturn]] void abandon(int exit_code) const;

 private:
  int index_ = 0;
  int count_ = 1;
  int index_on_node_ = 0;
  int count_on_node_ = 1;
};

}  // namespace lockstep
