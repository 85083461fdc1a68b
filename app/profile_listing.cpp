#include "app/profile_listing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/effective.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/host_overhead.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

using Kind = ParameterType::Kind;
using EvidenceOf = std::function<const Evidence&(const std::string& key_path)>;

/// A mapping of nothing but scalars, as an operator's overheads: one line.
bool is_flat(const YamlNode& node) {
  return std::ranges::all_of(
      node.entries, [](const YamlEntry& entry) { return entry.value.kind == YamlNode::Kind::Scalar; });
}

/// Writes down every number below a mapping.
class Numbers {
 public:
  Numbers(const ConfigPath& configs, EvidenceOf evidence_of)
      : configs_{configs}, evidence_of_{std::move(evidence_of)} {}

  void of(const ParameterType& type, const YamlNode& node, const std::string& key_path) {
    if (node.kind == YamlNode::Kind::Null) {
      return;
    }
    if (type.kind == Kind::Mapping && node.kind == YamlNode::Kind::Mapping) {
      for (const Parameter& parameter : type.parameters) {
        if (const YamlEntry* entry = node.find(parameter.key);
            entry != nullptr && parameter.key != "provenance") {
          of(parameter.type, entry->value, joined(key_path, parameter.key));
        }
      }
    } else if (type.kind == Kind::Table && !std::ranges::all_of(node.entries, [](const YamlEntry& entry) {
                 return entry.value.kind == YamlNode::Kind::Scalar;
               })) {
      for (const YamlEntry& entry : node.entries) {
        if (is_flat(entry.value)) {
          add(joined(key_path, entry.key), entry.value);
        } else {
          of(type.element.front(), entry.value, joined(key_path, entry.key));
        }
      }
    } else if (type.kind == Kind::Table) {
      for (const YamlEntry& entry : node.entries) {
        add(joined(key_path, entry.key), entry.value);
      }
    } else if (type.kind != Kind::Text) {
      add(key_path, node);
    }
  }

  std::vector<ListedNumber> all;

 private:
  static std::string joined(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  void add(const std::string& key_path, const YamlNode& node) {
    const std::string file = configs_.shown(node.at.file);
    all.push_back({key_path, flow_text(node),
                   node.at.line > 0 ? fmt::format("{}:{}", file, node.at.line) : file,
                   evidence_of_(key_path)});
  }

  const ConfigPath& configs_;
  EvidenceOf evidence_of_;
};

template <class Spec>
ProfileListing listing_of(const YamlDocument& document, const ConfigPath& configs, const Spec& spec,
                          const EvidenceOf& evidence_of) {
  Numbers numbers{configs, evidence_of};
  const ParameterType type = type_of<Spec>();
  numbers.of(type, effective_tree(type, document, configs), "");
  return {Spec::kConfigKind, spec.name, spec.source, std::move(numbers.all), {}};
}

/// Large ones: what the models say when neither launch nor latency counts.
std::vector<std::pair<std::string, KernelCall>> kernels_to_ask(const GpuSpec& gpu) {
  constexpr std::int64_t kMany = 1 << 26;
  std::vector<std::pair<std::string, KernelCall>> calls{
      {"matrix product, fp32", {"", DataType::FP32, Gemm{1, 4096, 4096, 4096}}},
      {"batched matrix product, fp32", {"", DataType::FP32, Gemm{64, 512, 512, 512}}},
      {"element-wise", {"", DataType::FP32, Pointwise{kMany}}},
      {"optimizer", {"", DataType::FP32, OptimizerUpdate{Optimizer::Sgd, kMany}}},
      {"softmax", {"", DataType::FP32, Softmax{16384, 1024}}},
      {"layer norm", {"", DataType::FP32, LayerNorm{16384, 1024}}},
      {"sum", {"", DataType::FP32, Reduction{16384, 1024}}},
      {"concatenation", {"", DataType::FP32, Concat{kMany, 8}}},
      {"transposition", {"", DataType::FP32, Transpose{1, 8192, 8192}}},
      {"embedding lookup", {"", DataType::FP32, EmbeddingBags{4096, {{1'000'000, 64, 32}}}}},
      {"embedding update",
       {"", DataType::FP32, EmbeddingBags{4096, {{1'000'000, 64, 32}}, Direction::Backward}}},
      {"index select", {"", DataType::FP32, IndexSelect{50'000, 16'384, 1024}}},
      {"triangular index", {"", DataType::FP32, TriangularIndex{4096, 27}}},
      {"copy from the host", {"", DataType::FP32, Memcpy{Bytes{1e8}, Memcpy::Path::HostToDevice}}}};
  if (gpu.peak.fp16 > FlopsPerSecond{0}) {
    calls.insert(calls.begin() + 2,
                 {{"matrix product, fp16", {"", DataType::FP16, Gemm{1, 4096, 4096, 4096}}},
                  {"flash attention, fp16", {"", DataType::FP16, FlashAttention{8, 16, 2048, 2048, 128}}}});
  }
  return calls;
}

std::vector<ListedKernel> kernels_of(const GpuSpec& gpu) {
  std::vector<ListedKernel> kernels;
  for (const auto& [work, call] : kernels_to_ask(gpu)) {
    const KernelModel& model = model_for(call);
    const Prediction prediction = model.predict(call, gpu);
    kernels.push_back({work, model.name(), prediction.provenance, prediction.band});
  }
  return kernels;
}

template <class Spec>
ProfileListing listed(const YamlDocument& document, const ConfigPath& configs) {
  const auto spec = read_document<Spec>(document, configs);
  return listing_of(document, configs, spec, [&](const std::string& key_path) -> const Evidence& {
    return evidence_for(spec.provenance, key_path);
  });
}

/// Efficiencies of another GPU's set are worth what the GPU says of the set.
template <>
ProfileListing listed<GpuSpec>(const YamlDocument& document, const ConfigPath& configs) {
  const auto gpu = read_document<GpuSpec>(document, configs);
  const std::string inner = "efficiency.";
  ProfileListing listing =
      listing_of(document, configs, gpu, [&](const std::string& key_path) -> const Evidence& {
        const Evidence& outer = evidence_for(gpu.provenance, key_path);
        if (!key_path.starts_with(inner)) {
          return outer;
        }
        const std::string of_efficiency = key_path.substr(inner.size());
        const Evidence& of_set = evidence_for(gpu.efficiency->provenance, of_efficiency);
        return !is_own(outer.is) && outer.is > of_set.is ? outer : of_set;
      });
  listing.kernels = kernels_of(gpu);
  if (!gpu.silent_because.empty()) {
    listing.remark = "the networks do not answer, since " + gpu.silent_because;
  }
  return listing;
}

/// A network's numbers are its weights: what is told is where it answers, and how well.
template <>
ProfileListing listed<LearnedKernels>(const YamlDocument& document, const ConfigPath& configs) {
  const auto networks = read_document<LearnedKernels>(document, configs);
  const std::string file = configs.shown(document.root().at.file);
  ProfileListing listing{LearnedKernels::kConfigKind, networks.name, networks.source, {}, {}};
  for (const LearnedKernel& network : networks.kernels) {
    const std::string kind = fmt::format("{} {}{}{}", name_of(network.family), network.type,
                                         network.layout.empty() ? "" : " ", network.layout);
    const Evidence evidence{Provenance::Fitted, network.source, network.error, std::nullopt, {}};
    const auto add = [&](const std::string& key, const std::string& value) {
      listing.numbers.push_back({fmt::format("{}: {}", kind, key), value, file, evidence});
    };
    add("on", fmt::format("{}", fmt::join(networks.gpus, ", ")));
    add("band", fmt::format("{:.3g}", network.band));
    add("formula_error", fmt::format("{:.3g}", network.formula_error));
    for (const auto* features : {&network.features, &network.elements}) {
      for (const LearnedFeature& feature : *features) {
        add(feature.name, fmt::format("{:.4g} to {:.4g}", feature.least, feature.most));
      }
    }
  }
  return listing;
}

/// The kinds of profile, and a key that each must have and no other has.
struct ProfileKind {
  const char* folder;
  const char* telltale;
  ProfileListing (*list)(const YamlDocument&, const ConfigPath&);
};

constexpr std::array kProfileKinds{
    ProfileKind{GpuSpec::kConfigKind, "sm_count", &listed<GpuSpec>},
    ProfileKind{KernelEfficiency::kConfigKind, "layer_norm", &listed<KernelEfficiency>},
    ProfileKind{CollectiveProfile::kConfigKind, "ring", &listed<CollectiveProfile>},
    ProfileKind{HostOverheads::kConfigKind, "runtime_calls", &listed<HostOverheads>},
    ProfileKind{LearnedKernels::kConfigKind, "kernels", &listed<LearnedKernels>}};

ProfileListing list_file(const std::filesystem::path& path, const ConfigPath& configs) {
  const YamlDocument document = YamlDocument::from_file(path);
  for (const ProfileKind& kind : kProfileKinds) {
    if (document.root().find(kind.telltale) != nullptr) {
      return kind.list(document, configs.beside(path.parent_path()));
    }
  }
  throw InputError{{path.string()},
                   "is no profile: of a GPU it would have sm_count, of efficiencies layer_norm, of "
                   "collectives ring, of a host runtime_calls, of networks kernels"};
}

std::string quality(const Evidence& evidence) {
  std::string text;
  if (evidence.error) {
    text += fmt::format("; mean error {:.1f} % where it was not fitted", 100 * *evidence.error);
  }
  if (evidence.machines) {
    text += fmt::format("; machines of this kind differ by {:.1f} %", 100 * *evidence.machines);
  }
  return evidence.range.empty() ? text
                                : text + (evidence.error ? "; checked: " : "; range: ") + evidence.range;
}

bool is_same(const Evidence& a, const Evidence& b) {
  return a.is == b.is && a.source == b.source && a.error == b.error && a.machines == b.machines &&
         a.range == b.range;
}

std::string numbers_on(const ProfileListing& listing, const Evidence& evidence) {
  constexpr std::size_t kWidth = 110;
  std::string text = fmt::format("{}: {}{}\n", name_of(evidence.is), evidence.source, quality(evidence));
  for (const ListedNumber& number : listing.numbers) {
    if (is_same(number.evidence, evidence)) {
      const bool fits = number.value.size() <= kWidth - 44;
      text += fmt::format("  {:<41} {}\n", number.key,
                          fits ? number.value : number.value.substr(0, kWidth - 46) + " ...");
    }
  }
  return text;
}

}  // namespace

ProfileListing list_profile(const std::string& name_or_path, const ConfigPath& configs) {
  if (is_path(name_or_path)) {
    return list_file(name_or_path, configs);
  }
  std::vector<std::string> known;
  for (const ProfileKind& kind : kProfileKinds) {
    std::ranges::move(configs.names(kind.folder), std::back_inserter(known));
  }
  for (const ProfileKind& kind : kProfileKinds) {
    if (std::ranges::count(configs.names(kind.folder), name_or_path) > 0) {
      const auto path = configs.find(kind.folder, name_or_path);
      return kind.list(YamlDocument::from_file(path), configs.beside(path.parent_path()));
    }
  }
  throw std::invalid_argument{
      fmt::format("no profile '{}'{}", name_or_path, did_you_mean(name_or_path, known))};
}

std::string listing_text(const ProfileListing& listing) {
  std::array<std::size_t, 4> counts{};
  std::vector<Evidence> found;
  for (const ListedNumber& number : listing.numbers) {
    ++counts.at(static_cast<std::size_t>(number.evidence.is));
    if (std::ranges::none_of(found, [&](const Evidence& e) { return is_same(e, number.evidence); })) {
      found.push_back(number.evidence);
    }
  }
  std::ranges::stable_sort(found, {}, &Evidence::is);
  std::string text = fmt::format("{} ({}): {}\n\n{} numbers:", listing.name, listing.kind, listing.source,
                                 listing.numbers.size());
  for (const auto& [provenance, name] : names_of(Provenance{})) {
    text += fmt::format(" {} {}{}", counts.at(static_cast<std::size_t>(provenance)), name,
                        provenance == Provenance::Guessed ? "\n" : ",");
  }
  for (const Evidence& evidence : found) {
    text += "\n" + numbers_on(listing, evidence);
  }
  if (!listing.kernels.empty()) {
    text += "\nkernel models, of a large kernel\n";
    if (!listing.remark.empty()) text += fmt::format("  {}\n", listing.remark);
    for (const ListedKernel& kernel : listing.kernels) {
      text += fmt::format("  {:<30}{:<10}+- {:>3.0f} %  {}\n", kernel.work, name_of(kernel.provenance),
                          100 * kernel.band, kernel.model);
    }
  }
  return text;
}

}  // namespace lockstep
