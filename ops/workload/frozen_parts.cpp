#include "ops/workload/frozen_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "base/parse_units.hpp"
#include "base/suggest.hpp"
#include "ops/workload/model_spec.hpp"

namespace lockstep {
namespace {

constexpr std::array kOfDlrm{ModelPart::BottomMlp, ModelPart::Embedding, ModelPart::TopMlp};
constexpr std::array kOfTransformer{ModelPart::Embedding, ModelPart::Layers, ModelPart::Head};
constexpr std::array kOfCnn{ModelPart::Blocks, ModelPart::Head};

bool has_modules(ModelPart part) {
  return part == ModelPart::Layers || part == ModelPart::Blocks;
}

[[noreturn]] void refuse_part(const std::string& text, const std::string& why) {
  throw std::invalid_argument{fmt::format("'{}': {} (parts are e.g. embedding, layers 0..11)", text, why)};
}

std::int64_t module_in(const std::string& number, const std::string& text) {
  std::int64_t module = 0;
  try {
    parse(number, module);
  } catch (const std::invalid_argument&) {
    refuse_part(text, fmt::format("'{}' is no number of a module", number));
  }
  return module;
}

FrozenRange range_of(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::string name = text.substr(0, space);
  const std::vector<std::string> known = all_names_of<ModelPart>();
  const auto found = std::ranges::find(known, name);
  if (found == known.end()) {
    refuse_part(text, fmt::format("no model has a part '{}'{}", name, did_you_mean(name, known)));
  }
  FrozenRange range;
  range.part = names_of(ModelPart{})[static_cast<std::size_t>(found - known.begin())].value;
  if (space == std::string::npos) {
    return range;
  }
  if (!has_modules(range.part)) {
    refuse_part(text, fmt::format("'{}' is frozen whole", name));
  }
  const std::string numbers = text.substr(space + 1);
  const std::size_t dots = numbers.find("..");
  range.first = module_in(numbers.substr(0, dots), text);
  range.last = dots == std::string::npos ? range.first : module_in(numbers.substr(dots + 2), text);
  if (range.first < 0 || range.last < range.first) {
    refuse_part(text, "a range of modules is A..B, from 0 on");
  }
  return range;
}

std::span<const ModelPart> parts_of(const ModelSpec& model) {
  return model.dlrm          ? std::span<const ModelPart>{kOfDlrm}
         : model.cnn         ? std::span<const ModelPart>{kOfCnn}
         : model.transformer ? std::span<const ModelPart>{kOfTransformer}
                             : std::span<const ModelPart>{};
}

/// Why the model's step cannot be written with these parts frozen; empty: it can.
std::string hindrance_to_freezing(const FrozenParts& frozen, const ModelSpec& model) {
  if (model.encoder_decoder || model.xlnet) {
    return "frozen parts are written for DLRMs, transformers of layers alike, and convolutional networks";
  }
  if (model.dlrm) {
    const DlrmSpec& dlrm = *model.dlrm;
    return dlrm.implementation == DlrmImplementation::HugeCtr
               ? "HugeCTR's graph is not written with frozen parts"
           : dlrm.interaction == Interaction::Cross ? "cross layers are not written beside frozen parts"
           : dlrm.bottom_mlp_placement == BottomMlpPlacement::FirstRank && frozen.has(ModelPart::Embedding)
               ? "with bottom_mlp_placement: first_rank the tables' exchange carries the bottom MLP's "
                 "gradient"
               : "";
  }
  if (model.framework.compile != Compile::None) {
    return "compiled models are not written with frozen parts: leave 'compile' out";
  }
  if (model.transformer && (model.transformer->lora || model.transformer->experts)) {
    return model.transformer->lora ? "adapters freeze all weights already: leave 'lora' or 'freeze' out"
                                   : "layers with experts are not written frozen";
  }
  return "";
}

std::int64_t modules_of(const ModelSpec& model) {
  return model.transformer ? model.transformer->layers
         : model.cnn ? [&] {
             std::int64_t blocks = 0;
             for (const CnnBlock& block : model.cnn->blocks) blocks += block.repeat;
             return blocks;
           }()
                     : 0;
}

bool trains_something(const FrozenParts& frozen, const ModelSpec& model) {
  for (const ModelPart part : parts_of(model)) {
    const std::int64_t count = has_modules(part) ? modules_of(model) : 1;
    for (std::int64_t module = 0; module < count; ++module) {
      if (!frozen.has(part, module)) {
        return true;
      }
    }
  }
  return false;
}

void expect_part(const FrozenRange& range, const ModelSpec& model) {
  const std::span<const ModelPart> known = parts_of(model);
  if (std::ranges::find(known, range.part) == known.end()) {
    std::vector<std::string> names;
    for (const ModelPart part : known) names.push_back(name_of(part));
    throw std::invalid_argument{fmt::format("the model has no '{}' to freeze; it has {}", name_of(range.part),
                                            fmt::join(names, ", "))};
  }
  const std::int64_t count = modules_of(model);
  const bool is_whole = range.first == 0 && range.last == FrozenRange{}.last;
  if (has_modules(range.part) && !is_whole && range.last >= count) {
    throw std::invalid_argument{fmt::format("the model has {} {}, 0 to {}: there is no {}", count,
                                            name_of(range.part), count - 1, range.last)};
  }
}

}  // namespace

FrozenParts::FrozenParts(const std::vector<std::string>& parts) {
  for (const std::string& text : parts) {
    ranges_.push_back(range_of(text));
  }
}

bool FrozenParts::has(ModelPart part, std::int64_t module) const {
  return std::ranges::any_of(ranges_, [&](const FrozenRange& range) {
    return range.part == part && range.first <= module && module <= range.last;
  });
}

std::int64_t FrozenParts::lowest_reached(ModelPart part, std::int64_t count, bool below) const {
  std::int64_t lowest = 0;
  while (!below && lowest < count && has(part, lowest)) {
    ++lowest;
  }
  return lowest;
}

void check_frozen(const FrozenParts& frozen, const ModelSpec& model) {
  if (frozen.empty()) {
    return;
  }
  if (const std::string hindrance = hindrance_to_freezing(frozen, model); !hindrance.empty()) {
    throw std::invalid_argument{hindrance};
  }
  for (const FrozenRange& range : frozen.ranges()) {
    expect_part(range, model);
  }
  if (!trains_something(frozen, model)) {
    throw std::invalid_argument{"every part of the model is frozen: nothing would be trained"};
  }
}

}  // namespace lockstep
