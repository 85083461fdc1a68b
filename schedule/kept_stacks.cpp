#include "schedule/kept_stacks.hpp"

#include <fmt/format.h>

namespace lockstep {
namespace {

/// A number of a model and its key.
struct KeptNumber {
  LayerGroup group;
  const char* key;
  std::int64_t& value;
  bool is_width;  ///< else a whole number
};

void keep_number(const KeptNumber& number, Keeping& keeping) {
  if (!keeping.changes(number.group)) {
    return;
  }
  const std::int64_t full = number.value;
  number.value = number.is_width ? keeping.width(number.group, full) : keeping.number(number.group, full);
  keeping.tell(number.group, full, number.value);
  keeping.write(number.key, number.value);
}

}  // namespace

void keep_encoder_decoder(EncoderDecoderSpec& model, Keeping& keeping) {
  const std::int64_t head_size = model.head_size.value_or(model.hidden / model.heads);
  keep_number({LayerGroup::Layers, "encoder_decoder.layers", model.layers, false}, keeping);
  if (model.decoder_layers) {
    keep_number({LayerGroup::Layers, "encoder_decoder.decoder_layers", *model.decoder_layers, false},
                keeping);
  }
  if (!model.head_size && (keeping.changes(LayerGroup::Heads) || keeping.changes(LayerGroup::Hidden))) {
    model.head_size = head_size;
    keeping.write("encoder_decoder.head_size", model.head_size);
  }
  keep_number({LayerGroup::Hidden, "encoder_decoder.hidden", model.hidden, true}, keeping);
  keep_number({LayerGroup::Heads, "encoder_decoder.heads", model.heads, false}, keeping);
  keep_number({LayerGroup::FeedForward, "encoder_decoder.feed_forward", model.feed_forward, true}, keeping);
  keep_number({LayerGroup::Vocabulary, "encoder_decoder.vocabulary", model.vocabulary, true}, keeping);
}

void keep_xlnet(XlnetSpec& model, Keeping& keeping) {
  const std::int64_t head_size = model.hidden / model.heads;
  const bool heads = keeping.changes(LayerGroup::Heads);
  if (heads && !keeping.changes(LayerGroup::Hidden)) {
    throw FieldError{"heads",
                     "heads of this code are hidden / heads wide: keep the same share of 'hidden', too"};
  }
  keep_number({LayerGroup::Layers, "xlnet.layers", model.layers, false}, keeping);
  keep_number({LayerGroup::Heads, "xlnet.heads", model.heads, false}, keeping);
  if (heads) {
    const std::int64_t full = model.hidden;
    model.hidden = model.heads * head_size;
    keeping.tell(LayerGroup::Hidden, full, model.hidden);
    keeping.write("xlnet.hidden", model.hidden);
  } else {
    keep_number({LayerGroup::Hidden, "xlnet.hidden", model.hidden, true}, keeping);
    expect_divides(LayerGroup::Hidden, model.hidden, model.heads, "heads", head_size * model.heads);
  }
  if (model.feed_forward) {
    keep_number({LayerGroup::FeedForward, "xlnet.feed_forward", *model.feed_forward, true}, keeping);
  } else if (keeping.changes(LayerGroup::FeedForward)) {
    throw FieldError{"feed_forward", "is 4 x hidden in this model: keep a share of 'hidden'"};
  }
  keep_number({LayerGroup::Vocabulary, "xlnet.vocabulary", model.vocabulary, true}, keeping);
}

void expect_divides(LayerGroup group, std::int64_t number, std::int64_t parts, const std::string& who,
                    std::int64_t most) {
  if (number % parts == 0) {
    return;
  }
  const std::int64_t below = number / parts * parts, above = below + parts;
  const bool is_below_nearer = above > most || (below > 0 && number - below <= above - number);
  throw FieldError{
      name_of(group),
      fmt::format("{} {} cannot be divided among {} {}: the nearest that can is {} (keep {:.6g})", number,
                  name_of(group), parts, who, is_below_nearer ? below : above,
                  static_cast<double>(is_below_nearer ? below : above) / static_cast<double>(most))};
}

}  // namespace lockstep
