#pragma once

#include <cstdint>
#include <optional>

#include "base/parameters.hpp"

namespace lockstep {

/// The cost of getting batches: torch.utils.data.DataLoader, in terms of its own parameters.
struct LoaderSpec {
  int workers = 0;
  Seconds time_per_sample{0};
  Seconds time_per_batch{0};
  std::optional<int> cores;
  bool pin_memory = true;

  template <class Visitor>
  static void describe(Visitor& key, LoaderSpec& loader) {
    key.optional("workers", loader.workers, 0,
                 "processes of each rank that prepare batches ahead (num_workers); 0: the training process "
                 "prepares each batch itself, when it asks for it");
    key.optional("time_per_sample", loader.time_per_sample, Seconds{0},
                 "time of one CPU core to read, decode, augment and collate a sample, e.g. 8 ms of a JPEG");
    key.optional("time_per_batch", loader.time_per_batch, Seconds{0},
                 "host time of the training process to take a batch, however it was prepared");
    key.optional("cores", loader.cores, std::nullopt,
                 "CPU cores of a node, which its ranks' processes share; left out: one for each process");
    key.optional("pin_memory", loader.pin_memory, true,
                 "batches are in page-locked memory; else the host stages their copies and waits for them");
  }

  void check() const {
    if (workers < 0) {
      throw FieldError{"workers", "'workers' is 0 or more"};
    }
    if (workers > 0 && !(time_per_sample > Seconds{0})) {
      throw FieldError{"workers", "workers need something to do: say 'time_per_sample', e.g. 8 ms"};
    }
    if (time_per_sample < Seconds{0} || time_per_batch < Seconds{0}) {
      throw FieldError{time_per_sample < Seconds{0} ? "time_per_sample" : "time_per_batch",
                       "a time is 0 s or more"};
    }
    if (cores && *cores < 1) {
      throw FieldError{"cores", "a node has at least 1 core"};
    }
  }

  /// How much longer a sample takes when @p ranks of a node share its cores: a core for each worker and each
  /// training process, and equal parts of what there is where it is less. >= 1
  [[nodiscard]] double contention(int ranks) const {
    const double processes = static_cast<double>(ranks) * (workers + 1);
    return cores && processes > *cores ? processes / *cores : 1;
  }

  /// Time from one batch of @p samples to the next. The workers of a rank, or the training process itself,
  /// prepare them as fast as they can.
  [[nodiscard]] Seconds interval(std::int64_t samples, int ranks_on_node) const {
    const int processes = workers > 0 ? workers : 1;
    return static_cast<double>(samples) * contention(ranks_on_node) / processes * time_per_sample;
  }
};

}  // namespace lockstep
