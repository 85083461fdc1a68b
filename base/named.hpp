#pragma once

#include <string>

namespace lockstep {

/// A Spec that a configuration gives by name, by file or in place:
///
///   gpu: a100                               # configs/<T::kConfigKind>/a100.yaml (base/config_path.hpp)
///   gpu: ../mine/a100.yaml                  # a file, relative to the one that names it
///   gpu: { name: mine, memory: 40 GiB }     # in place
///   gpu: { from: a100, memory: 80 GiB }     # a named one or a file, changed in part
///
/// T declares its folder: `static constexpr const char* kConfigKind = "gpus";`
template <class T>
struct Named {
  T value;
  std::string name;  ///< as written: a name or a path; "" for one given wholly in place

  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
};

}  // namespace lockstep
