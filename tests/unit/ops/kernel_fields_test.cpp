#include "ops/kernel_fields.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace lockstep {
namespace {

using namespace lockstep::literals;

/// One of each kind, no field at its default where another value is possible.
std::vector<KernelWork> one_of_each() {
  const EmbeddingTable table{100, 64, 2.5, 1.5, TableLocation::HostCached, 0.25, 1.1, 0.5, 2, 0.9};
  return {
      Gemm{2, 30, 40, 50, true, true, 4, 3, true},
      Pointwise{1000, 2.5, 1, 7, 12, true, 64, 3},
      Reduction{20, 30, true},
      Concat{500, 5, true},
      Transpose{2, 3, 4},
      TriangularIndex{2, 27, true, Direction::Backward},
      Softmax{8, 128, Direction::Backward, true, {1, 2, 3}, 512, true, true},
      LayerNorm{8, 128, LayerNorm::Part::InputGradient, {1, 2, 3}, 9, true},
      FlashAttention{2, 8, 128, 256, 64, false, true, Direction::Backward, FlashVersion::CuDnn, true},
      EmbeddingBags{32, {table, table}, Direction::Backward, Optimizer::Adagrad, DataType::FP16, true, true},
      EmbeddingCacheInsert{32, {table}},
      IndexSelect{1000, 20, 64, Direction::Backward, true},
      OptimizerUpdate{Optimizer::AdamW, 1000, 3, 4, 3, 12},
      Memcpy{64_KiB, Memcpy::Path::HostToDevice, false},
      Memset{1_MiB},
      Timed{2.5_us},
      BatchNorm{8, 64, 3136, Direction::Backward, true, true},
      Convolution{8, 64, 128, 56, 28, 3, 5, 2, 1, 2, Convolution::Pass::DataGradient, true, true}};
}

TEST(KernelFields, EveryKindComesBackFromItsNumbers) {
  std::set<std::string_view> kinds;
  for (const KernelWork& work : one_of_each()) {
    EXPECT_EQ(work_with(kind_of(work), fields_of(work)), work) << kind_of(work);
    kinds.insert(kind_of(work));
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<KernelWork>);
}

// Elements, rows and bytes are sizes; flags, passes and factors are not.
TEST(KernelFields, TellSizesFromTheRest) {
  std::vector<std::string> sizes;
  for (const KernelField& field : fields_of(Gemm{2, 30, 40, 50, true})) {
    if (field.is_size) sizes.push_back(field.key);
  }
  EXPECT_EQ(sizes, (std::vector<std::string>{"batch", "m", "n", "k"}));
  EXPECT_TRUE(fields_of(Memset{1_MiB}).front().is_size);
  EXPECT_FALSE(fields_of(Timed{1_us}).front().is_size);
}

TEST(KernelFields, RefuseWhatAKernelCannotHave) {
  const auto made = [](std::string_view kind, KernelField field) {
    return work_with(kind, std::vector<KernelField>{std::move(field)});
  };
  EXPECT_THROW(static_cast<void>(made("gem", {"m", 1})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(made("gemm", {"rows", 1})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(made("gemm", {"m", -1})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(made("gemm", {"m", 1.5})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(made("gemm", {"transpose_a", 2})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(made("attention", {"version", 6})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(made("embedding", {"rows.9000000", 1})), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
