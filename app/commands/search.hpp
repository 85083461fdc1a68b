#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"
#include "search/embedding/learned_policy.hpp"
#include "search/embedding/searching.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

struct SearchCommandOptions {
  std::string scenario;  ///< name of a shipped one, file or folder
  std::string folder;    ///< where results go; empty: lockstep-out/NAME
  std::vector<Override> overrides;
  std::string method = "lockstep";  ///< a name of sharding::method_called(), or all that need no training
  SearchLimits limits;
  std::uint64_t seed = 1;
  PolicyRequest policy;
  std::string costs;  ///< file of the cost networks that NeuroShard's methods ask; empty: the fast models
  std::string json;   ///< `-`: to stdout instead of the text
  bool quiet = false;
};

/// Searches the best plan for the embedding tables of a DLRM scenario: prints it against the others, writes
/// plan.yaml, plan.json, torchrec_plan.json and load.svg. Ctrl-C keeps the best plan so far.
/// @throws InputError, also where no plan fits: which table does not, and what would help
int search_command(const SearchCommandOptions& options);

/// Registers `lockstep search`; when it was called, @p action runs it.
void add_search_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
