# What `tools/check.sh` runs under the address and the undefined-behaviour sanitizer: the unit tests of all readers, of
# the engines, a sample of scenarios, and half a minute of each fuzzer. Label `sanitized`, target `sanitized`.

add_custom_target(sanitized DEPENDS lockstep unit_base unit_traces unit_calibration unit_sim property_sim fuzz)

# One process for all cases where SimGrid is not used.
foreach(name unit_base unit_traces unit_calibration)
  add_test(NAME sanitized.${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(sanitized.${name} PROPERTIES LABELS sanitized TIMEOUT 600)
endforeach()

foreach(name dlrm_default_8xv100 gpt2_8xa100 chakra_data_parallel resnet50_8xv100 one_straggler zero_offload_13b)
  add_test(NAME sanitized.${name} COMMAND lockstep run ${PROJECT_SOURCE_DIR}/scenarios/${name}/scenario.yaml
           -o ${PROJECT_BINARY_DIR}/sanitized/${name})
  set_tests_properties(sanitized.${name} PROPERTIES LABELS sanitized TIMEOUT 300)
endforeach()
