// Fused attention computes whole tiles: a token more never makes it shorter, and costs nothing in a tile that
// is there already.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

GpuSpec gpu_named(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

double micros(const FlashAttention& work, DataType type, const GpuSpec& gpu) {
  const KernelCall call{"attention", type, work};
  return model_for(call).predict(call, gpu).duration / 1_us;
}

std::string told(const FlashAttention& work) {
  return fmt::format("version {}, direction {}, causal {}, dropout {}, {} heads of {}, {} queries, {} keys",
                     static_cast<int>(work.version), static_cast<int>(work.direction), work.causal,
                     work.dropout, work.heads, work.head_size, work.queries, work.keys);
}

/// The length that grows: the queries', the keys' or both.
enum class Grows { Both, Queries, Keys };

/// Lengths around whole steps of 64, in rising order.
void expect_rising(FlashAttention work, Grows grows, DataType type, const GpuSpec& gpu) {
  double before = 0;
  for (std::int64_t step = 0; step <= 40; ++step) {
    for (const std::int64_t tokens : {64 * step + 1, 64 * step + 33, 64 * step + 64}) {
      work.queries = grows == Grows::Keys ? 500 : tokens;
      work.keys = grows == Grows::Queries ? 500 : tokens;
      const double now = micros(work, type, gpu);
      EXPECT_GE(now, before * (1 - 1e-12)) << gpu.name << ", " << told(work);
      before = now;
    }
  }
}

class AttentionTokens : public ::testing::TestWithParam<const char*> {};

TEST_P(AttentionTokens, more_of_them_never_take_less) {
  const GpuSpec gpu = gpu_named(GetParam());
  for (const auto version : {FlashVersion::One, FlashVersion::OneCuda, FlashVersion::Two, FlashVersion::Three,
                             FlashVersion::CuDnn, FlashVersion::MemoryEfficient}) {
    for (const auto direction : {Direction::Forward, Direction::Backward}) {
      for (const std::int64_t heads : {1, 16, 37, 200, 512}) {
        for (const std::int64_t head_size : {32, 64, 128}) {
          FlashAttention work{.heads = heads,
                              .head_size = head_size,
                              .dropout = head_size == 64,
                              .direction = direction,
                              .version = version};
          expect_rising(work, Grows::Both, head_size == 32 ? DataType::FP32 : DataType::FP16, gpu);
          work.causal = false;
          for (const Grows grows : {Grows::Both, Grows::Queries, Grows::Keys}) {
            expect_rising(work, grows, DataType::FP16, gpu);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, AttentionTokens,
                         ::testing::Values("v100_16gb", "a100_80gb", "h100_80gb", "h100_80gb_cublas_13_boost",
                                           "b200_180gb"));

// 16 heads on an A100's 108 SMs, one tile each (two of 129 to 256 tokens): the time is a tile's, (tokens in
// whole blocks of 128 and 80 columns once, backward 235) by 128 rows. Only what is moved has fewer tokens,
// and waits for nothing here.
TEST(AttentionTokens, a_ragged_tile_takes_as_long_as_a_whole_one) {
  const GpuSpec gpu = gpu_named("a100_80gb");
  FlashAttention work{.heads = 16, .head_size = 64, .causal = false};
  const auto time = [&](std::int64_t tokens) {
    work.queries = work.keys = tokens;
    return micros(work, DataType::BF16, gpu);
  };
  for (const auto direction : {Direction::Forward, Direction::Backward}) {
    work.direction = direction;
    const double once = direction == Direction::Forward ? 80 : 235, least = gpu.kernel_minimum / 1_us;
    EXPECT_NEAR(time(65), time(128), 1e-9);
    EXPECT_NEAR(time(129), time(256), 1e-9);
    EXPECT_NEAR((time(129) - least) / (time(128) - least), (256 + once) / (128 + once), 1e-9);
  }
  work.head_size = 128;  // keys in blocks of 64
  EXPECT_LT(time(192), 0.9 * time(256));
  EXPECT_NEAR(time(129), time(192), 1e-9);
}

}  // namespace
}  // namespace lockstep
