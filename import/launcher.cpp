#include "import/launcher.hpp"

#include <array>
#include <initializer_list>
#include <optional>

namespace lockstep::importing {
namespace {

std::optional<int> count_of(Settings& settings, Draft& draft, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Setting* setting = settings.use(key);
    if (setting == nullptr || setting->value.kind != YamlNode::Kind::Scalar) {
      continue;
    }
    std::string text = setting->value.scalar;
    if (text.find('$') != std::string::npos || text == "auto" || text == "gpu") {
      draft.remark(Remark::Kind::Unsaid, source_of(*setting),
                   "is '" + text + "', which the file does not say");
      continue;
    }
    Setting plain = *setting;
    plain.value.scalar = text.substr(text.rfind(':') == std::string::npos ? 0 : text.rfind(':') + 1);
    constexpr std::int64_t kMost = 1'000'000;
    const std::int64_t number = whole_number_of(plain);
    if (number < 1 || number > kMost) {
      throw InputError{setting->value.at, setting->shown + ": between 1 and 1000000, not " + text};
    }
    return static_cast<int>(number);
  }
  return std::nullopt;
}

}  // namespace

void read_launcher(Settings& settings, Draft& draft) {
  if (const auto nodes = count_of(settings, draft, {"nnodes", "nodes", "num-nodes", "N"})) {
    draft.nodes = nodes;
  }
  if (const auto gpus = count_of(settings, draft,
                                 {"nproc-per-node", "gpus-per-node", "ntasks-per-node", "devices", "gres"})) {
    draft.gpus_per_node = gpus;
  }
  if (const auto gpus = count_of(settings, draft, {"num-processes", "ntasks", "np"})) {
    draft.gpus = gpus;
  }
  for (const char* key :
       {"node-rank", "master-addr", "master-port", "rdzv-endpoint", "rdzv-backend", "rdzv-id", "rdzv-conf",
        "standalone", "max-restarts", "local-ranks-filter", "tee", "role", "log-dir", "redirects"}) {
    if (const Setting* setting = settings.use(key)) {
      draft.remark(Remark::Kind::NoEffect, source_of(*setting));
    }
  }
}

}  // namespace lockstep::importing
