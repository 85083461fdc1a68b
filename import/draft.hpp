#pragma once

/// @file
/// A scenario while files that users have are read: keys with the places that they come from, and all that
/// could not become a key.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/yaml_node.hpp"

namespace lockstep::importing {

/// A key that a file has, or has not, and no key of the scenario says.
struct Remark {
  enum class Kind : std::uint8_t {
    Conflict,     ///< two files say different things
    NotModelled,  ///< may change the time of a step, and Lockstep has no equivalent
    Unknown,      ///< not understood
    Unsaid,       ///< what the file does not say; the sentence says what is assumed, or what else to give
    NoEffect,     ///< understood, and without effect on the time of a step
  };
  Kind kind = Kind::Unknown;
  SourceLocation at;
  std::string key;
  std::string why;  ///< a sentence; "" where the kind says all
};

/// A key of the scenario.
struct DraftKey {
  std::string path;  ///< `workload.global_batch`
  YamlNode value;    ///< at: the place that it comes from; of an assumption line 0
  std::string key;   ///< as its file calls it, or why it is assumed
  bool is_assumed = false;
};

/// The code that trains.
enum class Trainer : std::uint8_t { Unsaid, HuggingFace, DeepSpeed, Megatron, TorchTitan };

/// A key as a file writes it: the place and the name there.
struct Source {
  SourceLocation at;
  std::string key;
};

/// A kind of model that a file names without its sizes.
struct NamedKind {
  Source source;     ///< what names it
  std::string name;  ///< `T5`
  bool is_modelled = true;
};

class Draft {
 public:
  /// Sets a key. What an earlier file said otherwise becomes a Remark: the later file counts.
  void set(const std::string& path, YamlNode value, const Source& source);
  void set(const std::string& path, const std::string& scalar, const Source& source);

  /// Sets a key that no file says. @param why a few words behind "assumed: "
  void assume(const std::string& path, const std::string& scalar, const std::string& why);
  void assume(const std::string& path, YamlNode value, const std::string& why);

  /// Takes a key out again. Nothing happens where it is not set.
  void drop(const std::string& path);

  [[nodiscard]] bool has(const std::string& path) const { return find(path) != nullptr; }
  [[nodiscard]] const DraftKey* find(const std::string& path) const;
  [[nodiscard]] std::string text(const std::string& path) const;  ///< "" where it is not set
  [[nodiscard]] double number(const std::string& path, double otherwise) const;
  [[nodiscard]] const std::vector<DraftKey>& keys() const { return keys_; }

  void remark(Remark::Kind kind, const Source& source, const std::string& why = "");
  [[nodiscard]] const std::vector<Remark>& remarks() const { return remarks_; }

  std::vector<std::string> read;  ///< what was recognised: `config.json: model of Hugging Face`
  Trainer trainer = Trainer::Unsaid;
  bool has_arguments = false;                     ///< of Megatron-LM, as a command line has them
  std::optional<NamedKind> kind;                  ///< where a file names one
  std::string fsdp;                               ///< `fsdp` or `fsdp2` where a file says that FSDP shards
  std::optional<int> nodes, gpus_per_node, gpus;  ///< of the job
  std::string gpu;                                ///< a name of configs/gpus, where a file says which
  std::optional<YamlNode> node;                   ///< one machine as it was found (a NodeSpec)
  std::string node_origin;
  std::optional<YamlNode> network;  ///< switches as they were found (keys of a ClusterSpec)
  std::string network_origin;
  std::vector<std::string> hosts;  ///< that the network joins, in its order
  /// The name in the file of each value, by its place, for comments.
  std::map<std::string, std::string> names_by_place;

 private:
  void put(DraftKey key);

  std::vector<DraftKey> keys_;
  std::vector<Remark> remarks_;
};

/// `workload.model.transformer.layers` for `T.layers`; W., P., F. and M. stand for `workload.`,
/// `parallelism.`, `workload.model.framework.` and `workload.model.`.
[[nodiscard]] std::string whole_path(const std::string& shorthand);

}  // namespace lockstep::importing
