#pragma once

/// @file
/// The kinds of field a Spec may hold besides scalars, told apart for the visitors.

#include <map>
#include <optional>
#include <vector>

#include "base/named.hpp"
#include "base/units.hpp"

namespace lockstep {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_named = false;
template <class T>
inline constexpr bool is_named<Named<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class K, class T, class Less>
inline constexpr bool is_map<std::map<K, T, Less>> = true;

template <class T>
inline constexpr bool is_quantity = false;
template <int T, int D, int W>
inline constexpr bool is_quantity<Quantity<T, D, W>> = true;

}  // namespace lockstep
