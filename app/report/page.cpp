#include "app/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "app/report/web_files.hpp"
#include "app/version.hpp"
#include "base/svg.hpp"

namespace lockstep {
namespace {

std::string_view web_file(std::string_view name) {
  const auto found =
      std::ranges::find_if(web_files(), [&](const EmbeddedFile& file) { return file.path.ends_with(name); });
  if (found == web_files().end()) {
    throw std::logic_error{fmt::format("app/report/web/{} is not embedded", name)};
  }
  return found->text;
}

std::string quoted_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string document_json(const Page& page) {
  std::string pictures;
  for (const PagePicture& picture : page.pictures) {
    pictures += fmt::format(R"({}{{"title":{},"svg":{}}})", pictures.empty() ? "" : ",",
                            quoted_text(picture.title), quoted_text(picture.svg));
  }
  return fmt::format(
      R"({{"kind":{},"title":{},"sentence":{},"version":{},"machine":{},"scenario":{},"pictures":[{}],"timeline":{},"data":{}}})",
      quoted_text(page.kind), quoted_text(page.title), quoted_text(page.sentence), quoted_text(kVersion),
      quoted_text(page.machine), quoted_text(page.scenario), pictures, page.timeline, page.data);
}

}  // namespace

std::string embedded_json(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  std::size_t copied = 0;
  const auto replace = [&](std::size_t at, std::size_t length, std::string_view text) {
    safe.append(json, copied, at - copied).append(text);
    copied = at + length;
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      replace(i, 1, "\\u003c");
    } else if (json[i] == '>') {
      replace(i, 1, "\\u003e");
    } else if (json[i] == '&') {
      replace(i, 1, "\\u0026");
    } else if (json[i] != '\xe2') {
      continue;
    } else if (json.compare(i, 3, "\xe2\x80\xa8") == 0) {
      replace(i, 3, "\\u2028");
    } else if (json.compare(i, 3, "\xe2\x80\xa9") == 0) {
      replace(i, 3, "\\u2029");
    }
  }
  return safe.append(json, copied);
}

std::string page_html(const Page& page) {
  std::string html = fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{0} - lockstep {1}</title>
<link rel="icon" href="data:,">
<style>
)",
      svg_escaped(page.title), svg_escaped(page.kind));
  html += web_file("report.css");
  html += fmt::format(
      R"(</style>
</head>
<body>
<main id="page">
<header><p class="kind">lockstep {}</p><h1>{}</h1><p class="answer">{}</p></header>
<noscript><p>This page draws its charts with a script of its own. Without scripts only the answer is shown.</p></noscript>
</main>
<script type="application/json" id="data">
)",
      svg_escaped(page.kind), svg_escaped(page.title), svg_escaped(page.sentence));
  html += embedded_json(document_json(page));
  html += "\n</script>\n";
  for (const char* const script : {"format.js", "parts.js", "timeline.js", "memory.js", "views.js"}) {
    html += "<script>\n";
    html += web_file(script);
    html += "</script>\n";
  }
  return html + "</body>\n</html>\n";
}

}  // namespace lockstep
