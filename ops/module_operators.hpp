#pragma once

#include <string_view>

namespace lockstep {

/// Whether an operator is what a torch.nn.Module with weights, dropout or a window calls first, so that
/// Python's module is between it and the operator before it (HostOverheads::between_module_operators):
/// aten::linear, aten::layer_norm, aten::dropout, ...
[[nodiscard]] bool begins_a_module(std::string_view operator_name);

}  // namespace lockstep
