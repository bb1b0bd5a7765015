// What pages of voltac are made of: nothing is fetched, every text is escaped.
#pragma once

#include <string>
#include <vector>

namespace voltac {

// The beginning of every page, with its style; a title comes next.
inline constexpr char kPageHead[] = R"(<!DOCTYPE html>
<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">
<style>
body{font:14px/1.4 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.6em 0 .4em}
table{border-collapse:collapse}th,td{padding:.15em .8em;text-align:right;border-bottom:1px solid #e4e4e4}
th.t,td.t{text-align:left}td.t{font-family:ui-monospace,monospace;font-size:12px}
svg{width:100%;height:auto}svg text{font-size:11px;fill:#555}
svg path.line{fill:none;stroke:#3a6ea5;stroke-width:1.5}svg path.band{fill:#c9d7e8}svg path.axis{stroke:#ddd}
path.held{fill:#c9d7e8}path.live{fill:#3a6ea5}span.held{color:#c9d7e8}span.live{color:#3a6ea5}
td.right{background:#dcebdc}td.wrong{background:#f6dcd8}
figure{display:inline-block;margin:.4em .8em .4em 0;font-size:12px}figure img{width:96px;image-rendering:pixelated}
canvas{width:100%;border:1px solid #ddd;cursor:grab;touch-action:none}
#tip{min-height:1.4em;font-family:ui-monospace,monospace;font-size:12px;white-space:pre-wrap}
</style>
)";

std::string escaped(const std::string& text);
std::string base64(const std::string& bytes);

// A table: the first column left, the rest right unless a head ends with "<".
class Table {
  public:
    explicit Table(const std::vector<std::string>& heads);
    void row(const std::vector<std::string>& cells);
    std::string take() const;

  private:
    std::string html_;
    std::vector<bool> is_text_;
};

}  // namespace voltac
