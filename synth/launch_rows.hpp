#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "synth/model.hpp"

namespace lockstep::synth {

/// Launches of like kernels in a row, one after another, outside of blocks with other work. Each takes as
/// many parameters as fit (chunks of PyTorch's multi_tensor_apply), the last what is left. With more
/// parameters there are more of them, of the same size.
struct LaunchRow {
  std::size_t first = 0, last = 0;    ///< items of the template's body; `last` is behind the row
  std::vector<const Item*> launches;  ///< each as often as it is repeated
};

/// The rows of @p tmpl, in their order. A row has three launches at least, all but the last within a tenth of
/// the largest, and a size in it grows with the parameters.
[[nodiscard]] std::vector<LaunchRow> launch_rows(const Template& tmpl);

/// Lets the sizes of all launches in rows grow with the parameters: those that a product explained by chance.
void let_rows_grow(Template& tmpl);

}  // namespace lockstep::synth
