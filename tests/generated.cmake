# Programs that `lockstep generate` writes: compiled against a stub of CUDA and run, all ranks in one process, and what
# they put on their streams compared with their tables; compiled by nvcc where there is one.

if(NOT TARGET lockstep)
  return()
endif()
set(generated python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/generated_program.py --lockstep $<TARGET_FILE:lockstep>
    --stub ${CMAKE_CURRENT_LIST_DIR}/support/cuda_stub --work ${PROJECT_BINARY_DIR}/generated)
set(traces ${PROJECT_SOURCE_DIR}/../shared/data/traces)
function(generated_test name)
  add_test(NAME generated.${name} COMMAND ${generated} ${ARGN})
  set_tests_properties(generated.${name} PROPERTIES LABELS generated TIMEOUT 600 SKIP_RETURN_CODE 77
                       RESOURCE_LOCK generated_objects COST 500)  # one after another: the first begins early
endfunction()
generated_test(dlrm -- dlrm_nvswitch)                              # uneven all-to-all, lookups, copies
generated_test(gpt2 -- gpt2_8xa100)                                # eight ranks
generated_test(resnet50 -- resnet50_8xv100)                        # convolutions
generated_test(two_for_eight -- gpt2_8xa100 --ranks 2)
generated_test(pipeline -- gpt3_175b_interleaved --ranks 4)        # messages, some to ranks that are not there
generated_test(dlrm_traces -- ${traces}/dlrm_8xv100/kineto)        # eight recorded ranks, several host threads
generated_test(graph -- ${CMAKE_CURRENT_LIST_DIR}/inputs/generate/graph_trace.json)
generated_test(graph_ranks -- ${CMAKE_CURRENT_LIST_DIR}/inputs/generate/graph_ranks)  # a collective in a CUDA graph
generated_test(attention -- llama3_8b_fsdp --ranks 2)              # attention, fused norms
generated_test(repeated -- gpt2_8xa100 --ranks 2 --repeat 2 loss)
set(execution_traces)
foreach(rank 0 1 2 3 4 5 6 7)
  list(APPEND execution_traces ${traces}/dlrm_8xv100/pytorch_et/dlrm_eg_${rank}.json.gz)
endforeach()
list(JOIN execution_traces "," execution_traces)
generated_test(dlrm_storages -- ${traces}/dlrm_8xv100/kineto --set execution_traces=[${execution_traces}])
generated_test(nvcc_dlrm --nvcc -- dlrm_nvswitch)
generated_test(nvcc_resnet50 --nvcc -- resnet50_8xv100)
generated_test(nvcc_attention --nvcc -- llama3_8b_fsdp --ranks 2)

# The same as PyTorch scripts, run with a torch that computes nothing and notes its operators.
function(pytorch_test name)
  add_test(NAME generated.pytorch_${name}
           COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/pytorch_program.py --lockstep $<TARGET_FILE:lockstep>
                   --fake ${CMAKE_CURRENT_LIST_DIR}/support/fake_torch --work ${PROJECT_BINARY_DIR}/generated ${ARGN})
  set_tests_properties(generated.pytorch_${name} PROPERTIES LABELS generated TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()
pytorch_test(dlrm -- dlrm_nvswitch)
pytorch_test(gpt2 -- gpt2_8xa100 --ranks 2)
pytorch_test(resnet50 -- resnet50_8xv100 --ranks 1)
pytorch_test(llama3 -- llama3_8b_fsdp --ranks 1)
pytorch_test(traces -- ${traces}/dlrm_8xv100/kineto --ranks 2)
