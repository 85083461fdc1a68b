# The figures of each set of measurements, as tests/validation/scores.csv has them: one test per set. And one that pages
# say the same, which predicts nothing.

set(scores python3 -B ${PROJECT_SOURCE_DIR}/tools/validation_scores.py)
add_test(NAME scores COMMAND ${scores})
set_tests_properties(scores PROPERTIES LABELS unit)

if(NOT TARGET lockstep)
  return()
endif()

file(GLOB sets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/validation/*.yaml)
foreach(set ${sets})
  cmake_path(GET set STEM name)
  add_test(NAME scores.${name} COMMAND ${scores} --check ${name} --lockstep $<TARGET_FILE:lockstep>)
  set_tests_properties(scores.${name} PROPERTIES LABELS validation SKIP_RETURN_CODE 77)
endforeach()
