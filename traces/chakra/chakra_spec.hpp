#pragma once

#include <optional>
#include <string>

#include "base/parameters.hpp"

namespace lockstep {

/// Chakra execution traces to simulate: `trace: { chakra: traces/dp.%d.et }`.
struct ChakraSpec {
  std::string chakra;
  std::optional<int> ranks;
  std::optional<std::string> groups;
  int repeats = 1;

  template <class Visitor>
  static void describe(Visitor& key, ChakraSpec& trace) {
    key.required(
        "chakra", trace.chakra,
        "Chakra execution traces, one a rank, e.g. traces/dp.%d.et: %d stands for the rank's number, "
        "without it all ranks run the one file; relative to this file");
    key.optional("ranks", trace.ranks, std::nullopt, "how many GPUs, the first ones; all when left out");
    key.optional("groups", trace.groups, std::nullopt,
                 "process groups by their pg_name, a JSON file: {\"1\": [0, 1, 2, 3]}");
    key.optional("repeats", trace.repeats, 1, "how often the traces are run, one after the other");
  }

  void check() const {
    if (ranks && *ranks < 1) {
      throw FieldError{"ranks", "'ranks' is at least 1"};
    }
    if (repeats < 1) {
      throw FieldError{"repeats", "the traces are run at least once"};
    }
    if (chakra.empty()) {
      throw FieldError{"chakra", "a file name is needed, e.g. traces/dp.%d.et"};
    }
  }
};

}  // namespace lockstep
