#!/usr/bin/env python3
"""Draws a timeline (ours, or a Kineto trace of PyTorch's profiler) as SVG or PNG, to look at it without a viewer.

Usage: tools/render_timeline.py TIMELINE.json[.gz] OUT.svg|OUT.png [--from US] [--to US] [--ranks 0,3-5]
                                [--width PIXELS] [--arrows MOST] [--rows TEXT] [--beside OTHER.json[.gz]]

One row per host thread and stream, slices stacked by nesting and coloured by name, arrows from launches to what
they launched, times in microseconds from the first event. SVG needs nothing but Python; PNG also rsvg-convert
(Debian: librsvg2-bin) or Chromium.
"""

import argparse
import collections
import gzip
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

ROW = 15  # pixels of one slice
GAP = 6
LEFT = 190  # pixels for the names of rows
LETTER = 6.2  # pixels of one letter of the 10 px font
TOP = 24


def read_trace(path):
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


def parse_ranks(text):
    """'0,3-5' -> {0, 3, 4, 5}"""
    ranks = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        ranks.update(range(int(first), int(last or first) + 1))
    return ranks


def side_by_side(one, other, titles):
    """Both traces in one, each from its own first slice on; names of processes say which is which."""
    events, pids = [], {}
    for number, trace in enumerate((one, other)):
        first = min((event["ts"] for event in trace["traceEvents"] if event.get("ph") == "X"), default=0)
        for event in trace["traceEvents"]:
            event = {**event, "pid": pids.setdefault((number, event.get("pid")), len(pids))}
            if "ts" in event and event.get("ph") != "M":
                event["ts"] -= first
            if event.get("ph") == "M" and event["name"] == "process_name":
                event["args"] = {"name": f"{event['args']['name']}, {titles[number]}"}
            if "id" in event:
                event["id"] = f"{number} {event['id']}"
            events.append(event)
    return {"traceEvents": events}


class Names:
    """Names and order of processes and threads, from the metadata events."""

    def __init__(self, trace):
        self.process, self.process_order, self.thread, self.thread_order = {}, {}, {}, {}
        self.default_rank = trace.get("distributedInfo", {}).get("rank", 0)
        for event in trace["traceEvents"]:
            if event.get("ph") != "M":
                continue
            pid, lane = event["pid"], (event["pid"], event.get("tid", 0))
            if event["name"] == "process_name":
                self.process[pid] = event["args"]["name"]
            elif event["name"] == "process_labels" and event["args"]["labels"] not in self.process.get(pid, ""):
                self.process[pid] = f"{self.process.get(pid, pid)} {event['args']['labels']}"
            elif event["name"] == "process_sort_index":
                self.process_order[pid] = event["args"]["sort_index"]
            elif event["name"] == "thread_name":
                self.thread[lane] = event["args"]["name"]
            elif event["name"] == "thread_sort_index":
                self.thread_order[lane] = event["args"]["sort_index"]

    def rank(self, pid):
        found = re.match(r"rank (\d+)", self.process.get(pid, ""))
        return int(found.group(1)) if found else self.default_rank

    def order(self, lane):
        return (self.process_order.get(lane[0], 0), str(lane[0]), self.thread_order.get(lane, 0), str(lane[1]))


class Row:
    """A lane's slices, each with the depth at which it is drawn."""

    def __init__(self, slices):
        self.slices, self.depth = [], 1
        open_ends = []
        for event in sorted(slices, key=lambda e: (e["ts"], -e.get("dur", 0))):
            while open_ends and open_ends[-1] <= event["ts"] + 1e-6:
                open_ends.pop()
            self.slices.append((len(open_ends), event))
            open_ends.append(event["ts"] + event.get("dur", 0))
            self.depth = max(self.depth, len(open_ends))
        self.top = 0

    def middle_at(self, time):
        """Height at which an arrow at this time starts or ends: the innermost slice there."""
        depths = [d for d, e in self.slices if e["ts"] <= time <= e["ts"] + e.get("dur", 0)]
        return self.top + (max(depths, default=0) + 0.5) * ROW


class Drawing:
    def __init__(self, begin, end, width):
        self.begin, self.end, self.width = begin, end, width
        self.parts = []

    def x(self, time):
        return LEFT + (time - self.begin) * (self.width - LEFT) / (self.end - self.begin)

    def text(self, x, y, text, **attributes):
        extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{html.escape(text)}</text>')

    def slices(self, row):
        reached = collections.defaultdict(lambda: -1.0)  # by depth: right end of what is drawn, in pixels
        for depth, event in row.slices:
            start, end = max(event["ts"], self.begin), min(event["ts"] + event.get("dur", 0), self.end)
            if end < self.begin or start > self.end:
                continue
            left, right = self.x(start), max(self.x(end), self.x(start) + 0.5)
            if right < reached[depth] + 0.25:
                continue  # thinner than a pixel beside one that is drawn
            reached[depth] = right
            self.slice(left, right, row.top + depth * ROW, event)

    def slice(self, left, right, top, event):
        hue = zlib.crc32(event["name"].encode()) % 360
        args = " ".join(f"{key}={value}" for key, value in event.get("args", {}).items())
        title = f'{event["name"]}  {event.get("dur", 0):.3f} us at {event["ts"]:.3f}  {args}'
        self.parts.append(
            f'<rect x="{left:.2f}" y="{top}" width="{right - left:.2f}" height="{ROW - 1}" '
            f'fill="hsl({hue},55%,72%)"><title>{html.escape(title)}</title></rect>')
        letters = int((right - left - 4) / LETTER)
        if letters >= 3:
            name = event["name"]
            self.text(left + 2, top + ROW - 4.5, name if len(name) <= letters else name[: letters - 1] + "\u2026",
                      **{"class": "on-slice"})

    def arrow(self, from_x, from_y, to_x, to_y):
        bend = max(12.0, 0.4 * abs(to_x - from_x))
        self.parts.append(
            f'<path d="M{from_x:.1f},{from_y:.1f} C{from_x + bend:.1f},{from_y:.1f} {to_x - bend:.1f},{to_y:.1f} '
            f'{to_x:.1f},{to_y:.1f}" class="arrow" marker-end="url(#head)"/>')

    def axis(self, bottom, origin):
        step = 10.0 ** len(str(int((self.end - self.begin) / 10)))
        while (self.end - self.begin) / step < 8:
            step /= 2
        tick = int((self.begin - origin) / step) * step + origin
        while tick <= self.end:
            if tick >= self.begin:
                x = self.x(tick)
                self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="{bottom}" class="tick"/>')
                self.text(x + 2, 12, f"{tick - origin:,.6g} us")
            tick += step

    def svg(self, height):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}" '
                f'font-family="sans-serif" font-size="10"><style>.tick{{stroke:#ddd}}.arrow{{fill:none;'
                'stroke:#b33;stroke-width:0.7;opacity:0.7}.process{font-weight:bold}@media (prefers-color-scheme: dark){'
                '.paper{fill:#0f1318}text{fill:#e6eaee}.on-slice{fill:#1b1f24}.tick{stroke:#2c343d}}</style><defs>'
                '<marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" '
                'orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#b33"/></marker></defs>'
                '<rect class="paper" width="100%" height="100%" fill="white"/>' + "\n".join(self.parts) + "</svg>\n")


def draw_arrows(drawing, events, rows, most):
    starts = {(e.get("cat"), e["id"]): e for e in events if e.get("ph") == "s"}
    drawn = 0
    for end in (e for e in events if e.get("ph") == "f"):
        if drawn == most:
            break
        start = starts.get((end.get("cat"), end["id"]))
        lanes = [(e["pid"], e["tid"]) for e in (start, end) if e]
        if len(lanes) < 2 or lanes[0] == lanes[1] or any(lane not in rows for lane in lanes):
            continue
        if not all(drawing.begin <= e["ts"] <= drawing.end for e in (start, end)):
            continue
        drawing.arrow(drawing.x(start["ts"]), rows[lanes[0]].middle_at(start["ts"]),
                      drawing.x(end["ts"]), rows[lanes[1]].middle_at(end["ts"]))
        drawn += 1
    return drawn


def draw(trace, options):
    names = Names(trace)
    events = [e for e in trace["traceEvents"] if "ts" in e and isinstance(e.get("pid"), int)]
    if options.rows:
        events = [e for e in events if options.rows in names.process.get(e["pid"], "")]
    if options.ranks:
        events = [e for e in events if names.rank(e["pid"]) in options.ranks]
    lanes = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X":
            lanes[event["pid"], event["tid"]].append(event)
    if not lanes:
        raise SystemExit("no slices to draw")
    origin = min(e["ts"] for slices in lanes.values() for e in slices)
    last = max(e["ts"] + e.get("dur", 0) for slices in lanes.values() for e in slices)
    begin = origin + (options.begin or 0)
    end = origin + options.end if options.end is not None else last
    if begin >= end:
        raise SystemExit(f"--from {begin - origin} is not before the end, {end - origin} us")
    drawing = Drawing(begin, end, options.width)
    rows = {lane: Row(lanes[lane]) for lane in sorted(lanes, key=names.order)}
    top, process = TOP, None
    for lane, row in rows.items():
        if lane[0] != process:
            process = lane[0]
            drawing.text(4, top + 11, names.process.get(process, f"process {process}"), **{"class": "process"})
            top += ROW
        row.top = top
        top += row.depth * ROW + GAP
    drawing.axis(top, origin)
    for lane, row in rows.items():
        drawing.text(12, row.top + 11, names.thread.get(lane, f"thread {lane[1]}")[:28])
        drawing.slices(row)
    arrows = draw_arrows(drawing, events, rows, options.arrows)
    print(f"{sum(map(len, lanes.values()))} slices in {len(rows)} rows, {arrows} arrows, "
          f"{begin - origin:.3f} to {end - origin:.3f} us")
    return drawing.svg(top), top


def write_png(svg, height, options):
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "timeline.svg"
        source.write_text(svg)
        if shutil.which("rsvg-convert"):
            command = ["rsvg-convert", "-o", str(options.out), str(source)]
        elif shutil.which("chromium"):
            command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                       f"--user-data-dir={directory}/profile", f"--window-size={options.width * (2 if options.beside else 1)},{height}",
                       f"--screenshot={options.out.resolve()}", source.as_uri()]
        else:
            raise SystemExit("PNG needs rsvg-convert (Debian: librsvg2-bin) or chromium; SVG needs neither")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--from", dest="begin", type=float, help="microseconds from the first event")
    parser.add_argument("--to", dest="end", type=float, help="microseconds from the first event")
    parser.add_argument("--ranks", type=parse_ranks, help="e.g. 0,3-5; all when not given")
    parser.add_argument("--width", type=int, default=1800)
    parser.add_argument("--arrows", type=int, default=500, help="most flow arrows to draw; 0: none")
    parser.add_argument("--rows", help="only processes whose name has this, e.g. GPU")
    parser.add_argument("--beside", type=pathlib.Path, help="another timeline, drawn below rank by rank")
    parser.add_argument("--titles", default="source,program", help="what both are, with --beside")
    options = parser.parse_args()
    trace = read_trace(options.trace)
    if options.beside:
        trace = side_by_side(trace, read_trace(options.beside), options.titles.split(","))
    svg, height = draw(trace, options)
    if options.out.suffix == ".png":
        write_png(svg, height, options)
    else:
        options.out.write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
