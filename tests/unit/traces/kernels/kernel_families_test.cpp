#include "traces/kernels/kernel_families.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::Contains;

struct Known {
  const char* kernel;
  const char* launcher;
  const char* family;
};

class Family : public ::testing::TestWithParam<Known> {};

TEST_P(Family, IsTheSameEverywhere) {
  EXPECT_EQ(standard_families().of(GetParam().kernel, GetParam().launcher), GetParam().family)
      << GetParam().kernel << " of " << GetParam().launcher;
}

INSTANTIATE_TEST_SUITE_P(
    ByName, Family,
    ::testing::Values(
        Known{"ampere_sgemm_128x64_tn", "", "gemm"},
        Known{"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "", "gemm"},
        Known{"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1", "", "gemm"},
        Known{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128>(Params)", "", "gemm"},
        Known{"triton_tem_fused_addmm_3", "", "gemm"},
        Known{"triton_poi_fused_convolution_relu_4", "", "elementwise"},
        Known{"triton_red_fused_sum_2", "", "reduction"},
        Known{"triton_per_fused_native_layer_norm_1", "", "normalisation"},
        Known{"void flash_fwd_kernel<Flash_fwd_kernel_traits<64>>(Flash_fwd_params)", "", "attention"},
        Known{"attn_fwd", "", "attention"},
        Known{"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "", "attention"},
        Known{"void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<...>>", "", "attention"},
        Known{"aiter::fmha_fwd_hd128_bf16_causal", "", "attention"},
        Known{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma", "", "attention"},
        Known{"softmax_warp_forward", "", "softmax"}, Known{"Memcpy HtoD (Pinned -> Device)", "", "copy"},
        Known{"implicit_convolve_sgemm", "", "convolution"}, Known{"my_own_kernel", "", "other"}));

INSTANTIATE_TEST_SUITE_P(
    Communication, Family,
    ::testing::Values(
        Known{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", "communication"},
        Known{"void deep_ep::internode::combine<__nv_bfloat16, 8>(int4*)", "", "communication"},
        Known{"void deep_ep::intranode::notify_dispatch<8>(int const*)", "my_range", "communication"},
        Known{"void dpsk::ep::internode::cached_notify<false>(int)", "", "communication"},
        Known{"void deep_ep::internode_ll::dispatch<true, 7168>(void*)", "", "communication"},
        Known{"void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)", "", "other"},
        Known{"nvshmemi_transfer_rma_kernel", "", "communication"},
        Known{"void c10d::(anonymous)::multimem_all_reduce_kernel<c10::BFloat16, 16>", "", "communication"},
        Known{"two_shot_all_reduce_kernel_inplace", "", "communication"},
        Known{"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)", "", "communication"},
        Known{"mscclpp::allreduceAllpairs", "", "communication"},
        Known{"oneccl_ring_allreduce", "", "communication"},
        Known{"hcom_allReduce__870_0", "", "communication"}, Known{"rcclGenericKernel", "", "communication"},
        Known{"barrier_kernel", "symm_mem::one_shot_all_reduce", "communication"}));

// The operator says what a kernel does whose name does not; helpers keep their own families.
INSTANTIATE_TEST_SUITE_P(
    ByOperator, Family,
    ::testing::Values(
        Known{"my_own_kernel", "aten::mm", "gemm"}, Known{"kernel_57", "aten::_scaled_mm", "gemm"},
        Known{"void splitKreduce_kernel<32, 16>(...)", "aten::addmm", "gemm"},
        Known{"Memset (Device)", "aten::mm", "copy"},
        Known{"void at::native::vectorized_elementwise_kernel<4, CopyFunctor>", "aten::mm", "elementwise"},
        Known{"cutlass__5x_cudnn_s1688gemm", "aten::cudnn_convolution", "convolution"},
        Known{"kernel_cuda", "aten::_flash_attention_forward", "attention"},
        Known{"kernel_cuda", "aten::_scaled_dot_product_efficient_attention_backward", "attention"},
        Known{"my_own_kernel", "my_range", "other"}));

TEST(KernelFamilies, AListOfOnesOwnComesFirst) {
  KernelFamilyRow row;
  row.family = "routing";
  row.kernels = {"^topk", "my_gemm"};
  row.operators = {"mine::*"};
  row.source = "my model";
  const KernelFamilies families = families_with({row});
  EXPECT_EQ(families.of("topk_gating"), "routing");
  EXPECT_EQ(families.of("no_topk"), "other");
  EXPECT_EQ(families.of("my_gemm_128", "aten::mm"), "routing");
  EXPECT_EQ(families.of("sgemm", "mine::router"), "routing");
  EXPECT_EQ(families.of("sgemm", "aten::mm"), "gemm");
  EXPECT_THAT(families.names(), Contains("routing"));
}

TEST(KernelFamilies, ARowFindsSomething) {
  KernelFamilyRow row;
  row.family = "routing";
  EXPECT_THROW(row.check(), std::invalid_argument);
  row.kernels = {"^"};
  EXPECT_THROW(row.check(), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
