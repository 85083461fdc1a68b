#include "schedule/kept_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <sstream>

#include "base/yaml_value.hpp"
#include "schedule/keeping.hpp"
#include "schedule/kept_stacks.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kTensorCores = 64, kOthers = 8;

void expect_groups(const KeptShares& keep, std::span<const LayerGroup> known, const std::string& what) {
  for (const auto& [group, share] : keep) {
    if (std::ranges::find(known, group) == known.end()) {
      std::vector<std::string> names;
      for (const LayerGroup one : known) {
        names.push_back(name_of(one));
      }
      throw FieldError{name_of(group),
                       fmt::format("{} has no such group; it has {}", what, fmt::join(names, ", "))};
    }
  }
}

void keep_rows(DlrmSpec& dlrm, Keeping& keeping) {
  std::int64_t full = 0, kept = 0;
  for (TableGroupSpec& group : dlrm.tables) {
    for (std::int64_t& rows : group.rows) {
      rows = dlrm.max_rows ? std::min(rows, *dlrm.max_rows) : rows;
      full += rows * group.count;
      rows = keeping.number(LayerGroup::EmbeddingRows, rows);
      kept += rows * group.count;
    }
  }
  dlrm.max_rows.reset();
  keeping.write("dlrm.max_rows", dlrm.max_rows);
  keeping.tell(LayerGroup::EmbeddingRows, fmt::format("{} rows", full), fmt::format("{} rows", kept),
               static_cast<double>(full));
}

void keep_dimensions(DlrmSpec& dlrm, Keeping& keeping) {
  std::vector<std::int64_t> full, kept;
  for (TableGroupSpec& group : dlrm.tables) {
    full.push_back(group.dimension);
    group.dimension = keeping.width(LayerGroup::EmbeddingDim, group.dimension);
    kept.push_back(group.dimension);
  }
  if (dlrm.interaction == Interaction::Dot) {
    dlrm.bottom_mlp.back() = kept.front();
    keeping.write("dlrm.bottom_mlp", dlrm.bottom_mlp);
  }
  const auto unlike = [](std::vector<std::int64_t> widths) {
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    return Keeping::text_of(widths);
  };
  keeping.tell(LayerGroup::EmbeddingDim, unlike(full), unlike(kept), static_cast<double>(full.front()));
}

/// The first tables stay; a group of several sizes is written out.
void keep_tables(DlrmSpec& dlrm, Keeping& keeping) {
  const auto all = static_cast<std::int64_t>(dlrm.all_tables().size());
  const std::int64_t wanted = keeping.number(LayerGroup::Interaction, all);
  std::int64_t left = wanted;
  std::vector<TableGroupSpec> tables;
  for (const TableGroupSpec& group : dlrm.tables) {
    TableGroupSpec part = group;
    part.rows.clear();
    part.count = 1;
    for (const std::int64_t rows : group.rows) {
      const std::int64_t taken = std::min<std::int64_t>(left, group.count);
      part.rows.insert(part.rows.end(), static_cast<std::size_t>(taken), rows);
      left -= taken;
    }
    if (!part.rows.empty()) {
      tables.push_back(std::move(part));
    }
  }
  dlrm.tables = std::move(tables);
  keeping.tell(LayerGroup::Interaction, fmt::format("{} tables", all), fmt::format("{} tables", wanted),
               static_cast<double>(all));
}

void keep_dlrm(DlrmSpec& dlrm, Keeping& keeping) {
  if (keeping.changes(LayerGroup::BottomMlp)) {
    keeping.narrow(LayerGroup::BottomMlp, dlrm.bottom_mlp, 1);
    keeping.write("dlrm.bottom_mlp", dlrm.bottom_mlp);
  }
  if (keeping.changes(LayerGroup::TopMlp)) {
    keeping.narrow(LayerGroup::TopMlp, dlrm.top_mlp, 0);
    keeping.write("dlrm.top_mlp", dlrm.top_mlp);
  }
  const bool rows = keeping.changes(LayerGroup::EmbeddingRows),
             wide = keeping.changes(LayerGroup::EmbeddingDim),
             tables = keeping.changes(LayerGroup::Interaction);
  if (tables) keep_tables(dlrm, keeping);
  if (rows) keep_rows(dlrm, keeping);
  if (wide) keep_dimensions(dlrm, keeping);
  if (rows || wide || tables) {
    keeping.write("dlrm.tables", dlrm.tables);
  }
}

void keep_heads(TransformerSpec& model, const TransformerPlanSpec& plan, Keeping& keeping) {
  const std::int64_t full = model.heads, full_kv = model.key_value_heads();
  const std::int64_t size = model.size_of_head();
  const bool alike = full == full_kv;
  model.heads = keeping.number(LayerGroup::Heads, full);
  expect_divides(LayerGroup::Heads, model.heads, plan.tensor, "tensor-parallel ranks", full);
  std::int64_t kv = alike ? model.heads : full_kv;
  if (keeping.changes(LayerGroup::KvHeads)) {
    kv = keeping.number(LayerGroup::KvHeads, full_kv);
    keeping.tell(LayerGroup::KvHeads, full_kv, kv, model.layers);
  }
  expect_divides(LayerGroup::Heads, model.heads, kv, "groups of keys and values", full);
  if (keeping.changes(LayerGroup::Heads) && !keeping.changes(LayerGroup::Hidden) && model.is_in_modules()) {
    throw FieldError{"heads",
                     "heads of this code are hidden / heads wide: keep the same share of 'hidden', too"};
  }
  if (keeping.changes(LayerGroup::Heads)) {
    keeping.tell(LayerGroup::Heads, full, model.heads, model.layers);
    keeping.write("transformer.heads", model.heads);
    if (model.head_size || !keeping.changes(LayerGroup::Hidden)) {
      model.head_size = size;
      keeping.write("transformer.head_size", model.head_size);
    }
  }
  if (kv != model.heads || model.kv_heads) {
    model.kv_heads = kv;
    keeping.write("transformer.kv_heads", model.kv_heads);
  }
}

void keep_hidden(TransformerSpec& model, std::int64_t head_size, Keeping& keeping) {
  const std::int64_t full = model.hidden;
  if (keeping.changes(LayerGroup::Heads) && !model.head_size) {
    model.hidden = model.heads * head_size;
  } else {
    model.hidden = keeping.width(LayerGroup::Hidden, full);
    if (!model.head_size) {
      expect_divides(LayerGroup::Hidden, model.hidden, model.heads, "heads", full);
    }
  }
  keeping.tell(LayerGroup::Hidden, full, model.hidden);
  keeping.write("transformer.hidden", model.hidden);
}

void keep_experts(TransformerSpec& model, const TransformerPlanSpec& plan, Keeping& keeping) {
  if (!model.experts) {
    throw FieldError{"experts", "the model has no experts"};
  }
  const std::int64_t full = model.experts->count;
  model.experts->count = keeping.number(LayerGroup::Experts, full);
  expect_divides(LayerGroup::Experts, model.experts->count, plan.expert, "expert-parallel ranks", full);
  if (model.experts->count < model.experts->per_token) {
    throw FieldError{"experts",
                     fmt::format("a token is sent to {} experts: at least so many are kept, not {}",
                                 model.experts->per_token, model.experts->count)};
  }
  keeping.tell(LayerGroup::Experts, full, model.experts->count, model.layers);
  keeping.write("transformer.experts.count", model.experts->count);
}

void keep_feed_forward(TransformerSpec& model, const TransformerPlanSpec& plan, Keeping& keeping) {
  const std::int64_t full = model.feed_forward_width();
  model.feed_forward = keeping.width(LayerGroup::FeedForward, full);
  expect_divides(LayerGroup::FeedForward, *model.feed_forward, plan.tensor, "tensor-parallel ranks", full);
  keeping.tell(LayerGroup::FeedForward, full, *model.feed_forward, model.layers);
  keeping.write("transformer.feed_forward", model.feed_forward);
}

void keep_transformer(TransformerSpec& model, const TransformerPlanSpec& plan, Keeping& keeping) {
  if (keeping.changes(LayerGroup::Layers)) {
    const std::int64_t full = model.layers;
    model.layers = keeping.number(LayerGroup::Layers, full);
    keeping.tell(LayerGroup::Layers, full, model.layers);
    keeping.write("transformer.layers", model.layers);
  }
  const std::int64_t head_size = model.size_of_head();
  if (keeping.changes(LayerGroup::Heads) || keeping.changes(LayerGroup::KvHeads)) {
    keep_heads(model, plan, keeping);
  }
  if (keeping.changes(LayerGroup::Hidden)) keep_hidden(model, head_size, keeping);
  if (keeping.changes(LayerGroup::FeedForward)) keep_feed_forward(model, plan, keeping);
  if (keeping.changes(LayerGroup::Experts)) keep_experts(model, plan, keeping);
  if (keeping.changes(LayerGroup::Vocabulary)) {
    const std::int64_t full = model.vocabulary;
    model.vocabulary = keeping.width(LayerGroup::Vocabulary, full);
    keeping.tell(LayerGroup::Vocabulary, full, model.vocabulary);
    keeping.write("transformer.vocabulary", model.vocabulary);
  }
}

/// `conv 64 3x3 /2` with other channels; pools stay.
std::string with_channels(const std::string& layer, const Keeping& keeping) {
  const CnnLayer read = CnnLayer::parse(layer);
  if (read.kind != CnnLayer::Kind::Convolution) {
    return layer;
  }
  std::istringstream words{layer};
  std::string kind, channels, rest;
  words >> kind >> channels;
  std::getline(words, rest);
  return fmt::format("{} {}{}", kind, keeping.width(LayerGroup::Channels, read.channels), rest);
}

void keep_cnn(CnnSpec& cnn, Keeping& keeping) {
  if (!keeping.changes(LayerGroup::Channels)) {
    return;
  }
  double channels = 0;
  for (CnnBlock& block : cnn.blocks) {
    for (auto& branch : block.branches) {
      for (std::string& layer : branch) {
        channels += static_cast<double>(CnnLayer::parse(layer).channels * block.repeat);
        layer = with_channels(layer, keeping);
      }
    }
  }
  keeping.tell(LayerGroup::Channels, "all",
               fmt::format("{:g} % of each", 100 * keeping.share(LayerGroup::Channels)), channels);
  keeping.write("cnn.blocks", cnn.blocks);
}

constexpr std::array kDlrmGroups{LayerGroup::BottomMlp, LayerGroup::TopMlp, LayerGroup::EmbeddingDim,
                                 LayerGroup::EmbeddingRows, LayerGroup::Interaction};
constexpr std::array kTransformerGroups{LayerGroup::Layers,    LayerGroup::Hidden,      LayerGroup::Heads,
                                        LayerGroup::KvHeads,   LayerGroup::FeedForward, LayerGroup::Experts,
                                        LayerGroup::Vocabulary};
constexpr std::array kCnnGroups{LayerGroup::Channels};
constexpr std::array kEncoderDecoderGroups{LayerGroup::Layers, LayerGroup::Hidden, LayerGroup::Heads,
                                           LayerGroup::FeedForward, LayerGroup::Vocabulary};
constexpr std::array kXlnetGroups{LayerGroup::Layers, LayerGroup::Hidden, LayerGroup::Heads,
                                  LayerGroup::FeedForward, LayerGroup::Vocabulary};

}  // namespace

std::int64_t kept_width(std::int64_t full, double share, std::int64_t multiple) {
  if (share >= 1) {
    return full;
  }
  const double multiples = std::round(share * static_cast<double>(full) / static_cast<double>(multiple));
  return std::min(full, std::max(multiple, static_cast<std::int64_t>(multiples) * multiple));
}

std::int64_t usual_multiple(const ModelSpec& model, Precision precision, std::optional<std::int64_t> asked) {
  return asked.value_or(model.cnn || precision == Precision::FP32 ? kOthers : kTensorCores);
}

KeptModel kept_model(const ModelSpec& full, const KeptShares& keep, std::int64_t multiple,
                     const TransformerPlanSpec& plan) {
  Keeping keeping{full, keep, multiple};
  ModelSpec& model = keeping.kept().model;
  if (model.dlrm) {
    expect_groups(keep, kDlrmGroups, "a DLRM");
    keep_dlrm(*model.dlrm, keeping);
  } else if (model.transformer) {
    expect_groups(keep, kTransformerGroups, "a transformer");
    keep_transformer(*model.transformer, plan, keeping);
  } else if (model.cnn) {
    expect_groups(keep, kCnnGroups, "a convolutional network");
    keep_cnn(*model.cnn, keeping);
  } else if (model.encoder_decoder) {
    expect_groups(keep, kEncoderDecoderGroups, "an encoder-decoder");
    keep_encoder_decoder(*model.encoder_decoder, keeping);
  } else {
    expect_groups(keep, kXlnetGroups, "an XLNet");
    keep_xlnet(model.xlnet.value(), keeping);
  }
  return std::move(keeping.kept());
}

}  // namespace lockstep
