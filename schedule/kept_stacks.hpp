#pragma once

#include "schedule/keeping.hpp"

namespace lockstep {

/// Heads of T5 have a size of their own (d_kv); encoder and decoder lose the same share of layers.
void keep_encoder_decoder(EncoderDecoderSpec& model, Keeping& keeping);

/// Heads of XLNet are hidden / heads wide: both go together, by whole heads.
/// @throws FieldError for heads that go alone, a hidden width that heads do not divide
void keep_xlnet(XlnetSpec& model, Keeping& keeping);

}  // namespace lockstep
