# One library per folder, all its sources, its public dependencies only to the left.

function(lockstep_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
endfunction()

function(lockstep_library name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/app/main\\.cpp$|/calibration/measure/")
  if(NOT sources)  # a folder whose time has not come yet passes its dependencies on
    add_library(lockstep_${name}_interface INTERFACE)
    target_link_libraries(lockstep_${name}_interface INTERFACE ${arg_USES})
    add_library(lockstep::${name} ALIAS lockstep_${name}_interface)
    return()
  endif()
  add_library(lockstep_${name} STATIC ${sources})
  add_library(lockstep::${name} ALIAS lockstep_${name})
  target_include_directories(lockstep_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(lockstep_${name} PUBLIC ${arg_USES})
  lockstep_warnings(lockstep_${name})
endfunction()
