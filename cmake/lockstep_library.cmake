# One library per folder, all its sources, its public dependencies only to the left.

function(lockstep_warnings target)
  # -Wno-restrict: GCC 12 warns falsely about "literal" + string (GCC bug 105651)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Wno-restrict)
endfunction()

# Every header belongs to the header set of its folder's library: target all_verify_interface_header_sets compiles
# each alone (test `headers`).
function(lockstep_headers target name scope)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.hpp)
  list(FILTER headers EXCLUDE REGEX "/calibration/measure/")
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

function(lockstep_library name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
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
  lockstep_warnings(lockstep_${name})
endfunction()
