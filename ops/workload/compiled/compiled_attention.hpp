#pragma once

#include <cstdint>
#include <string_view>

#include "ops/workload/compiled/compiled_shape.hpp"

namespace lockstep {

/// Attention of a compiled transformer: the operator scaled_dot_product_attention, found as a pattern or
/// called, or products with a softmax between them.
class CompiledAttention {
 public:
  explicit CompiledAttention(const CompiledShape& shape) : shape_{shape} {}

  void forward() { is_fused() ? fused_forward() : unfused_forward(); }
  void backward() { is_fused() ? fused_backward() : unfused_backward(); }

 private:
  [[nodiscard]] bool is_fused() const;
  [[nodiscard]] std::int64_t scores() const {
    return shape_.block.batch * shape_.block.heads * shape_.block.sequence * shape_.block.sequence;
  }
  void unfused_forward();
  void unfused_backward();
  void fused_forward();
  void fused_backward();
  void copy_tokens(std::string_view what, int times);
  void product_of_heads(const Gemm& gemm);

  const CompiledShape& shape_;
};

}  // namespace lockstep
