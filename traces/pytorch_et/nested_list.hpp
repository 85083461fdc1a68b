#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::pytorch_et {

/// JSON lists within lists, taken apart in one pass: items stand before what is in them. Numbers are not
/// looked at, so that the `inf` and `nan` that PyTorch writes without quotes do no harm.
class NestedList {
 public:
  struct Item {
    std::string_view text;  ///< as written, with its brackets or quotes
    bool is_list = false;
    std::uint32_t end = 0;  ///< the item after this one and all that is in it
  };

  /// @return whether @p text is such a list, at most 64 deep; views point into it
  [[nodiscard]] bool parse(std::string_view text);
  bool parse(std::string&& text) = delete;  // its views would outlive it

  [[nodiscard]] const Item& at(std::uint32_t item) const { return items_[item]; }
  /// Items in a list, e.g. number 0, the outermost.
  [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t list) const;
  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  std::vector<Item> items_;
};

/// A whole number, or nothing.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

/// The contents of a JSON string, escapes resolved; of anything else its text.
[[nodiscard]] std::string plain_text(std::string_view json);

/// The types within `GenericList[A,B]` or `Tuple[A,B]`; empty where @p type is neither.
[[nodiscard]] std::vector<std::string_view> types_within(std::string_view type);

}  // namespace lockstep::pytorch_et
