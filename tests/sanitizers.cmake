# What `tools/check.sh` runs under the address and the undefined-behaviour sanitizer: the unit tests of readers and of
# the engines, a sample of scenarios, and half a minute of each fuzzer. Label `sanitized`, target `sanitized`.

add_custom_target(sanitized DEPENDS lockstep unit_base unit_traces unit_sim fuzz)

# What takes minutes under sanitizers and reads no file: random jobs by the hundred, large replays.
set(slow_traces -*ChromeTrace*:*Replay*:*WhatIf*:*CutFiles*)

foreach(name unit_base unit_traces)
  add_test(NAME sanitized.${name} COMMAND ${name} --gtest_brief=1 --gtest_filter=${slow_traces})
  set_tests_properties(sanitized.${name} PROPERTIES LABELS sanitized TIMEOUT 600)
endforeach()
# Engines under random contention take minutes; what stalls and what two ranks do takes seconds.
add_test(NAME sanitized.unit_sim COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/each_case.py $<TARGET_FILE:unit_sim>
         Stalled.*:TwoRanks*:CriticalPath*)
set_tests_properties(sanitized.unit_sim PROPERTIES LABELS sanitized TIMEOUT 600)

foreach(name dlrm_default_8xv100 gpt2_8xa100 chakra_data_parallel resnet50_8xv100 one_straggler zero_offload_13b)
  add_test(NAME sanitized.${name} COMMAND lockstep run ${PROJECT_SOURCE_DIR}/scenarios/${name}/scenario.yaml
           -o ${PROJECT_BINARY_DIR}/sanitized/${name})
  set_tests_properties(sanitized.${name} PROPERTIES LABELS sanitized TIMEOUT 300)
endforeach()
