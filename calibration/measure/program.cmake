# The program, where CUDA is found.

# Few architectures keep compiling short; the last one's intermediate code lets later GPUs run it too.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  if(CUDAToolkit_VERSION VERSION_LESS 13)  # 13 has no Volta any more
    set(architectures 70-real 80-real 90)
  else()
    set(architectures 80-real 90)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPUs that lockstep-measure is compiled for")
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know yet that nvcc 12 has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

file(GLOB programs CONFIGURE_DEPENDS *.cu families/*.cu)
add_executable(lockstep-measure ${programs})
target_link_libraries(lockstep-measure PRIVATE lockstep::measure CUDA::cudart_static CUDA::cublas CUDA::cublasLt
                                               ${CMAKE_DL_LIBS})
# fmt 9 thinks that nvcc has no constexpr, and then fails to compile as C++20.
target_compile_definitions(lockstep-measure PRIVATE FMT_USE_CONSTEXPR=1)
# Warnings of nvcc's own rewriting of the sources are no use: -Wpedantic complains about its line markers.
target_compile_definitions(lockstep-measure PRIVATE LOCKSTEP_VERSION="${PROJECT_VERSION}")
target_compile_options(lockstep-measure PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall,-Wextra>")
# The program needs nothing of SimGrid or yaml-cpp; a machine with GPUs need not have them.
target_link_options(lockstep-measure PRIVATE -Wl,--as-needed)
set_target_properties(lockstep-measure PROPERTIES BUILD_RPATH "$ORIGIN;${CUDAToolkit_LIBRARY_DIR}")

option(LOCKSTEP_MEASURE_NCCL "measure collectives, where NCCL is found" ON)
if(LOCKSTEP_MEASURE_NCCL)
  find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV NCCL_HOME PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ENV NCCL_HOME PATH_SUFFIXES lib lib64)
endif()
if(LOCKSTEP_MEASURE_NCCL AND NCCL_INCLUDE AND NCCL_LIBRARY)
  target_include_directories(lockstep-measure SYSTEM PRIVATE ${NCCL_INCLUDE})
  target_link_libraries(lockstep-measure PRIVATE ${NCCL_LIBRARY})
  target_compile_definitions(lockstep-measure PRIVATE LOCKSTEP_HAS_NCCL)
  set(collectives "with NCCL")
else()
  set(collectives "without NCCL: no collectives")
endif()

option(LOCKSTEP_MEASURE_MPI "measure collectives across nodes, where MPI is found" ON)
if(LOCKSTEP_MEASURE_MPI)
  # Some systems have MPI's compiler without its headers, which FindMPI takes for an error.
  find_program(MPI_COMPILER mpicxx)
  if(MPI_COMPILER)
    execute_process(COMMAND ${MPI_COMPILER} -fsyntax-only -include mpi.h -x c++ /dev/null
                    RESULT_VARIABLE mpi_fails OUTPUT_QUIET ERROR_QUIET)
    if(mpi_fails EQUAL 0)
      find_package(MPI QUIET COMPONENTS CXX)
    endif()
  endif()
endif()
if(LOCKSTEP_MEASURE_MPI AND MPI_CXX_FOUND)
  target_include_directories(lockstep-measure SYSTEM PRIVATE ${MPI_CXX_INCLUDE_DIRS})
  target_link_libraries(lockstep-measure PRIVATE ${MPI_CXX_LIBRARIES})
  target_compile_definitions(lockstep-measure PRIVATE LOCKSTEP_HAS_MPI OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(nodes "with MPI")
else()
  set(nodes "without MPI: one process")
endif()
message(STATUS "lockstep-measure: CUDA ${CUDAToolkit_VERSION}, GPUs ${CMAKE_CUDA_ARCHITECTURES}, ${collectives}, ${nodes}")
