#pragma once

#include "cuda_runtime.h"

enum cudnnStatus_t { CUDNN_STATUS_SUCCESS };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC };
enum cudnnDataType_t { CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };
enum cudnnMathType_t { CUDNN_DEFAULT_MATH, CUDNN_FMA_MATH };
enum cudnnConvolutionMode_t { CUDNN_CROSS_CORRELATION };
enum cudnnConvolutionFwdAlgo_t { CUDNN_STUB_FORWARD };
enum cudnnConvolutionBwdDataAlgo_t { CUDNN_STUB_DATA };
enum cudnnConvolutionBwdFilterAlgo_t { CUDNN_STUB_FILTER };
struct StubDnn {
  cudaStream_t stream = nullptr;
};
struct StubTensor {
  int n, c, h, w;
};
struct StubConvolution {
  int stride, padding_height, padding_width;
};
using cudnnHandle_t = StubDnn*;
using cudnnTensorDescriptor_t = StubTensor*;
using cudnnFilterDescriptor_t = StubTensor*;
using cudnnConvolutionDescriptor_t = StubConvolution*;
template <class Algorithm>
struct StubPerformance {
  cudnnStatus_t status;
  std::size_t memory;
  Algorithm algo;
};
using cudnnConvolutionFwdAlgoPerf_t = StubPerformance<cudnnConvolutionFwdAlgo_t>;
using cudnnConvolutionBwdDataAlgoPerf_t = StubPerformance<cudnnConvolutionBwdDataAlgo_t>;
using cudnnConvolutionBwdFilterAlgoPerf_t = StubPerformance<cudnnConvolutionBwdFilterAlgo_t>;

/// Logged as what was asked for: `convolution PASS N C H W K R S stride padding padding`.
void stub_convolution(cudnnHandle_t handle, int pass, const StubTensor& x, const StubTensor& w,
                      const StubConvolution& convolution);

inline const char* cudnnGetErrorString(cudnnStatus_t) {
  return "stub";
}
inline cudnnStatus_t cudnnCreate(cudnnHandle_t* made) {
  return *made = new StubDnn, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnDestroy(cudnnHandle_t made) {
  return delete made, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return handle->stream = stream, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnCreateTensorDescriptor(StubTensor** made) {
  return *made = new StubTensor{}, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnDestroyTensorDescriptor(StubTensor* made) {
  return delete made, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnCreateFilterDescriptor(StubTensor** made) {
  return *made = new StubTensor{}, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnDestroyFilterDescriptor(StubTensor* made) {
  return delete made, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnCreateConvolutionDescriptor(StubConvolution** made) {
  return *made = new StubConvolution{}, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnDestroyConvolutionDescriptor(StubConvolution* made) {
  return delete made, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetTensor4dDescriptor(StubTensor* t, cudnnTensorFormat_t, cudnnDataType_t, int n,
                                                int c, int h, int w) {
  return *t = {n, c, h, w}, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetFilter4dDescriptor(StubTensor* t, cudnnDataType_t, cudnnTensorFormat_t, int k,
                                                int c, int h, int w) {
  return *t = {k, c, h, w}, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetConvolution2dDescriptor(StubConvolution* made, int padding_height,
                                                     int padding_width, int stride, int, int, int,
                                                     cudnnConvolutionMode_t, cudnnDataType_t) {
  return *made = {stride, padding_height, padding_width}, CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetConvolutionMathType(StubConvolution*, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}
template <class Performance>
cudnnStatus_t stub_algorithm(int* count, Performance* found) {
  *count = 1;
  found[0] = {CUDNN_STATUS_SUCCESS, 1024, {}};
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, StubTensor*, StubTensor*,
                                                            StubConvolution*, StubTensor*, int, int* count,
                                                            cudnnConvolutionFwdAlgoPerf_t* found) {
  return stub_algorithm(count, found);
}
inline cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, StubTensor*, StubTensor*,
                                                                 StubConvolution*, StubTensor*, int,
                                                                 int* count,
                                                                 cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return stub_algorithm(count, found);
}
inline cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, StubTensor*, StubTensor*, StubConvolution*, StubTensor*, int, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return stub_algorithm(count, found);
}
inline cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void*, StubTensor* x, const void*,
                                             StubTensor* w, const void*, StubConvolution* c,
                                             cudnnConvolutionFwdAlgo_t, void*, std::size_t, const void*,
                                             StubTensor*, void*) {
  return stub_convolution(h, 0, *x, *w, *c), CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void*, StubTensor* w, const void*,
                                                  StubTensor*, const void*, StubConvolution* c,
                                                  cudnnConvolutionBwdDataAlgo_t, void*, std::size_t,
                                                  const void*, StubTensor* x, void*) {
  return stub_convolution(h, 1, *x, *w, *c), CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void*, StubTensor* x, const void*,
                                                    StubTensor*, const void*, StubConvolution* c,
                                                    cudnnConvolutionBwdFilterAlgo_t, void*, std::size_t,
                                                    const void*, StubTensor* w, void*) {
  return stub_convolution(h, 2, *x, *w, *c), CUDNN_STATUS_SUCCESS;
}
