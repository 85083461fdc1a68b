#pragma once

#include <cstdint>

namespace lockstep::kernels {

/// Pooling of @p planes images (batch times channels) by windows.
struct Pool {
  std::int64_t planes = 0;
  std::int64_t height = 0, width = 0;          ///< of the input
  std::int64_t out_height = 0, out_width = 0;  ///< of the output
  std::int64_t window_height = 1, window_width = 1;

  /// Windows over a pixel of the input, on average: rows of them, and all.
  [[nodiscard]] double rows_over_pixel() const { return share(window_height, out_height, height); }
  [[nodiscard]] double over_pixel() const {
    return rows_over_pixel() * share(window_width, out_width, width);
  }

 private:
  [[nodiscard]] static double share(std::int64_t window, std::int64_t out, std::int64_t in) {
    return static_cast<double>(window * out) / static_cast<double>(in);
  }
};

}  // namespace lockstep::kernels
