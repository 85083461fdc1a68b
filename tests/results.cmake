# What users' folders hold whatever happens: killed commands, limits of the shell.

add_library(kill_at MODULE support/kill_at.cpp)
target_link_libraries(kill_at PRIVATE ${CMAKE_DL_LIBS})
foreach(command run export replay plan search sweep calibrate)
  add_test(NAME killed.${command} COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/kill_test.py
           --lockstep $<TARGET_FILE:lockstep> --preload $<TARGET_FILE:kill_at> ${command})
  set_tests_properties(killed.${command} PROPERTIES LABELS unit TIMEOUT 300 COST 200)
endforeach()

add_test(NAME folder_of_results COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/result_folder_test.py
         $<TARGET_FILE:lockstep>)
set_tests_properties(folder_of_results PROPERTIES LABELS unit TIMEOUT 300 COST 200)

add_test(NAME report_page COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/report_page_test.py
         $<TARGET_FILE:lockstep>)
set_tests_properties(report_page PROPERTIES LABELS unit TIMEOUT 300)

add_test(NAME options COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/options_test.py $<TARGET_FILE:lockstep>)
set_tests_properties(options PROPERTIES LABELS unit TIMEOUT 300)

add_test(NAME memory_track COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/memory_track_test.py
         $<TARGET_FILE:lockstep>)
add_test(NAME topology_of_scenarios COMMAND python3 -B ${CMAKE_CURRENT_LIST_DIR}/support/topology_test.py
         $<TARGET_FILE:lockstep> ${CMAKE_CURRENT_LIST_DIR}/inputs/topology)
set_tests_properties(memory_track topology_of_scenarios PROPERTIES LABELS unit TIMEOUT 300)
