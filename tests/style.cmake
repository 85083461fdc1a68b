# How the code is written, as tests: formatting, layering, headers that compile alone, clang-tidy.

set(tools ${PROJECT_SOURCE_DIR}/tools)

add_test(NAME format COMMAND python3 -B ${tools}/check_format.py)
add_test(NAME links COMMAND python3 -B ${tools}/check_links.py ${PROJECT_SOURCE_DIR})
add_test(NAME english COMMAND python3 -B ${tools}/check_english.py ${PROJECT_SOURCE_DIR})
add_test(NAME changelog COMMAND python3 -B ${tools}/check_changelog.py)
add_test(NAME schema_lines COMMAND python3 -B ${tools}/schema_lines.py)
add_test(NAME readme COMMAND python3 -B ${tools}/readme_answers.py)
add_test(NAME layering COMMAND python3 -B ${tools}/check_layering.py ${PROJECT_SOURCE_DIR})
add_test(NAME layering_check COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/style/check_layering_test.py)
add_test(NAME one_definition COMMAND python3 -B ${tools}/check_one_definition.py ${PROJECT_SOURCE_DIR})
add_test(NAME one_definition_check COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/style/check_one_definition_test.py)
add_test(NAME source_batches COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/style/source_batches_test.py)
add_test(NAME transcript_runner COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/style/run_transcript_test.py)

# Made by CMake from the header sets that lockstep_library() declares: a source file for every header.
add_test(NAME headers COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target all_verify_interface_header_sets)

find_program(CLANG_TIDY clang-tidy)
if(CLANG_TIDY)
  add_test(NAME tidy COMMAND python3 -B ${tools}/check_tidy.py ${PROJECT_BINARY_DIR})
  # Both take all cores while they have something to do; on a clean tree clang-tidy takes longest of all tests.
  set_tests_properties(tidy PROPERTIES TIMEOUT 1800 RUN_SERIAL TRUE LABELS style SKIP_RETURN_CODE 77)
endif()

set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)  # another clang-format than tools/clang_version.py names
set_tests_properties(headers PROPERTIES TIMEOUT 900 RUN_SERIAL TRUE)
set_tests_properties(format links english changelog readme schema_lines layering layering_check one_definition one_definition_check
                     source_batches transcript_runner headers PROPERTIES LABELS style)
