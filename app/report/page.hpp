#pragma once

/// @file
/// report.html: a page that shows a command's answer, without network and without other files.

#include <string>
#include <vector>

namespace lockstep {

constexpr const char* kReportPage = "report.html";

/// An SVG picture of a command, as it also writes it into a file of its own.
struct PagePicture {
  std::string title;
  std::string svg;
};

/// The contents of a page. Texts are plain; the page escapes them.
struct Page {
  std::string kind;               ///< the command: `run`, `sweep`, ...
  std::string title;              ///< name of the scenario
  std::string sentence;           ///< the answer, with its band
  std::string data;               ///< the command's JSON, as `--json` prints it
  std::string timeline = "null";  ///< PageTimeline::json()
  std::string machine{};          ///< SVG of the machine with its busiest links; empty: none
  std::string scenario{};         ///< YAML; empty: none
  std::vector<PagePicture> pictures{};
};

/// The page as HTML. Its data is one JSON block in which no `<` stands, so that no name can end it.
[[nodiscard]] std::string page_html(const Page& page);

/// JSON text with `<`, `>`, `&`, U+2028 and U+2029 as \\u escapes: the same JSON, harmless inside of HTML.
[[nodiscard]] std::string embedded_json(const std::string& json);

}  // namespace lockstep
