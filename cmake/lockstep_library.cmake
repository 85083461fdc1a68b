# One library per folder, all its sources, its public dependencies only to the left.

# GCC judges warnings; Clang compiles for sanitizers and fuzzers.
function(lockstep_warnings target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # -Wno-restrict: GCC 12 warns falsely about "literal" + string (GCC bug 105651)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Wno-restrict ${ARGN})
  endif()
endfunction()

# The libraries also go into the Python module, where hidden names are called as directly as in a program.
function(lockstep_position_independent target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# The standard library's and fmt's headers are half of what a file takes to compile: read once for all libraries. A
# compiler cache does more, and does not see into precompiled headers. It also keeps what they could hide honest: a
# source that forgets an include does not compile with one (or with -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON).
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  foreach(name precompiled_std precompiled_std_once)
    add_library(${name} OBJECT cmake/precompiled_std.cpp)
    target_link_libraries(${name} PRIVATE fmt::fmt)
    lockstep_warnings(${name})
    lockstep_position_independent(${name})
    target_precompile_headers(${name} PRIVATE <algorithm> <array> <charconv> <chrono> <cmath> <cstdint>
                              <filesystem> <fstream> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span>
                              <sstream> <stdexcept> <string> <string_view> <tuple> <unordered_map> <utility> <variant>
                              <vector> <fmt/format.h>)
  endforeach()
  target_compile_options(precompiled_std_once PRIVATE $<$<CONFIG:Release>:-O1>)
endif()

# RUNS_ONCE: what runs once a command, not once an operation, is compiled in two thirds of the time with -O1. Its
# headers are precompiled alike, because GCC takes the level from there.
function(lockstep_precompiled target)
  set(headers precompiled_std)
  if("RUNS_ONCE" IN_LIST ARGN)
    set(headers precompiled_std_once)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(TARGET ${headers})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")  # headers are compiled with the same options as what reads them
      target_compile_options(${target} PRIVATE -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
    else()
      lockstep_position_independent(${target})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers})
    # With precompiled headers GCC bug 105651 has two more names; builds without them keep these warnings.
    lockstep_warnings(${target} -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endfunction()

# Compiles several files of a target as one where LOCKSTEP_UNITY says so: half of the time from a clean tree, more
# after a change. Groups are made when CMake runs; a name that two files of a group have got since is an error that
# ends when it runs again.
option(LOCKSTEP_UNITY "compile several files of a folder as one" OFF)
set(LOCKSTEP_UNITY_FILES 24 CACHE STRING "so many of them: more is less work in all, and more for one core at a time")
function(lockstep_unity target)
  if(LOCKSTEP_UNITY)
    get_target_property(sources ${target} SOURCES)
    execute_process(COMMAND python3 -B ${PROJECT_SOURCE_DIR}/tools/source_batches.py ${LOCKSTEP_UNITY_FILES} ${sources}
                    OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
    foreach(source group IN ZIP_LISTS sources groups)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_compile_options(${target} PRIVATE -Wno-shadow)  # a name of one file and one in a function of another
  endif()
endfunction()

# Every header compiles alone: a .cpp includes the header of its name first (tools/check_layering.py), and a header
# without one belongs to the set `alone`, of which target all_verify_interface_header_sets compiles each (test
# `headers`).
function(lockstep_headers target name scope)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.hpp)
  list(FILTER headers EXCLUDE REGEX "/calibration/measure/")
  foreach(header ${headers})
    cmake_path(REPLACE_EXTENSION header LAST_ONLY .cpp OUTPUT_VARIABLE source)
    if(NOT EXISTS ${source})
      list(APPEND alone ${header})
    endif()
  endforeach()
  target_sources(${target} ${scope} FILE_SET alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY alone)
endfunction()

function(lockstep_library name)
  cmake_parse_arguments(arg "RUNS_ONCE" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/app/main\\.cpp$|/calibration/measure/")
  if(NOT sources)  # a folder of headers, or one whose time has not come yet, passes its dependencies on
    add_library(lockstep_${name}_interface INTERFACE)
    add_library(lockstep::${name} ALIAS lockstep_${name}_interface)
    target_link_libraries(lockstep_${name}_interface INTERFACE ${arg_USES})
    lockstep_headers(lockstep_${name}_interface ${name} INTERFACE)
    return()
  endif()
  add_library(lockstep_${name} STATIC ${sources})
  add_library(lockstep::${name} ALIAS lockstep_${name})
  target_include_directories(lockstep_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(lockstep_${name} PUBLIC ${arg_USES})
  lockstep_headers(lockstep_${name} ${name} PUBLIC)
  lockstep_position_independent(lockstep_${name})
  lockstep_warnings(lockstep_${name})
  if(arg_RUNS_ONCE)
    set(level RUNS_ONCE)
  endif()
  lockstep_precompiled(lockstep_${name} ${level})
  lockstep_unity(lockstep_${name})
endfunction()
