# Every library comes from a package of Debian 12 or 13; tools/install_dependencies.sh names them.
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost CONFIG REQUIRED)  # Boost.Graph: headers only
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)  # networks of ops/kernels, least squares of calibration/
find_package(simdjson REQUIRED)  # traces of hundreds of megabytes, traces/
find_package(SQLite3 REQUIRED)  # exports of Nsight Systems, traces/nsys/
find_package(ZLIB REQUIRED)
find_package(pugixml REQUIRED)  # topologies of NCCL, import/
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(simgrid REQUIRED IMPORTED_TARGET simgrid)  # the package has no CMake configuration
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)  # memory of the program, app/main.cpp
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)  # torchtitan's files, import/
