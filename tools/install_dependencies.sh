#!/usr/bin/env bash
# Installs the packages of Debian 12 or 13 that building and testing Lockstep needs; does nothing when all are there.
#
# Usage: tools/install_dependencies.sh
set -euo pipefail

packages=(
  cmake ninja-build g++ pkg-config                              # the build
  libsimgrid-dev                                                # the simulation engine, sim/
  libboost-dev                                                  # Boost.Graph (headers only), topology/
  libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
  libsimdjson-dev                                               # large traces, traces/
  libjemalloc-dev                                               # memory of the program, app/main.cpp
  libtomlplusplus-dev libpugixml-dev libsqlite3-dev                            # files of users, import/
  libeigen3-dev                                                 # fits, calibration/
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev  # tests/, bench/
  python3 clang-format clang-tidy                               # tools/, and the style tests
  pybind11-dev python3-dev                                      # python/
  clang libclang-rt-dev                                         # preset asan: sanitizers, fuzzers
  valgrind                                                      # instructions an operation, bench/instructions.py
  dpkg-dev file                                                 # cpack: the packages of the program's libraries
)

is_installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

if ! command -v apt-get >/dev/null; then
  echo "tools/install_dependencies.sh knows Debian and its descendants only. Install what corresponds to:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi

as_root=()
if [[ "$(id -u)" -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and installing them needs root (there is no sudo here):" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "packages: installing ${missing[*]}"
as_root+=(env DEBIAN_FRONTEND=noninteractive)
"${as_root[@]}" apt-get update --quiet=2 </dev/null
"${as_root[@]}" apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}" </dev/null >/dev/null
