#include "ops/module_operators.hpp"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 11> kFirstOfModules{"aten::linear",
                                                           "aten::addmm",
                                                           "aten::conv2d",
                                                           "aten::batch_norm",
                                                           "aten::layer_norm",
                                                           "aten::dropout",
                                                           "aten::embedding",
                                                           "aten::embedding_bag",
                                                           "aten::max_pool2d",
                                                           "aten::avg_pool2d",
                                                           "aten::adaptive_avg_pool2d"};

}  // namespace

bool begins_a_module(std::string_view operator_name) {
  return std::ranges::find(kFirstOfModules, operator_name) != kFirstOfModules.end();
}

}  // namespace lockstep
