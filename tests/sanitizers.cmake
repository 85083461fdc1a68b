# What `tools/check.sh` runs under the address and the undefined-behaviour sanitizer: the unit tests of configurations
# and engines, a sample of scenarios, and ten seconds of each fuzzer. Label `sanitized`, target `sanitized`.

# Scenarios without the floors above `scenario`, which are half of what would be compiled.
add_executable(predict_scenario ${CMAKE_CURRENT_LIST_DIR}/support/predict_scenario.cpp)
target_link_libraries(predict_scenario PRIVATE lockstep::scenario)
add_custom_target(sanitized DEPENDS predict_scenario unit_base unit_sim fuzz)

# A process for each case. Random contention takes minutes; readers of traces are the fuzzers' (unit_traces takes more).
set(cases_unit_base *)
set(cases_unit_sim Stalled.*:TwoRanks*:CriticalPath*)
foreach(name unit_base unit_sim)
  add_test(NAME sanitized.${name} COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/each_case.py
           $<TARGET_FILE:${name}> ${cases_${name}})
  set_tests_properties(sanitized.${name} PROPERTIES LABELS sanitized TIMEOUT 900)
endforeach()

foreach(name dlrm_default_8xv100 gpt2_8xa100 chakra_data_parallel resnet50_8xv100 one_straggler zero_offload_13b)
  add_test(NAME sanitized.${name} COMMAND predict_scenario ${PROJECT_SOURCE_DIR}/scenarios/${name}/scenario.yaml)
  set_tests_properties(sanitized.${name} PROPERTIES LABELS sanitized TIMEOUT 300)
endforeach()
