#!/usr/bin/env python3
"""Pages of results: whole without network, small, scripts that a JavaScript engine reads; and the server of `view`.

Usage: report_page_test.py PROGRAM
"""
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LOCKSTEP = Path(sys.argv.pop(1)).resolve()
SCENARIO = """name: "small </script><img src=http://example.org/x>"
cluster: dgx_a100 x 1
workload: { model: {from: gpt2, transformer: {layers: 2}}, global_batch: 8, precision: bf16 }
parallelism: { ranks: 2 }
steps: 2
"""
LOADS = re.compile(r"""(?:src|href)\s*=\s*["'](?!data:|\#)|@import|fetch\(|XMLHttpRequest|url\((?!["']?data:)""")
BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)
SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.home = Path(cls.scratch.name)
        (cls.home / "my.yaml").write_text(SCENARIO)
        cls.lockstep("run", "my.yaml", "-o", "run", "--sensitivity")
        cls.lockstep("sweep", "my.yaml", "-o", "sweep", "--set", "workload.global_batch=8,16")
        cls.lockstep("run", "my.yaml", "-o", "other", "--set", "workload.global_batch=16")
        cls.lockstep("compare", "run", "other", "-o", "compare")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def lockstep(cls, *words):
        done = subprocess.run([LOCKSTEP, *words], cwd=cls.home, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def pages(self):
        for name in ("run", "sweep", "compare"):
            yield name, (self.home / name / "report.html").read_text()

    def test_they_need_no_network(self):
        for name, html in self.pages():
            without_data = BLOCK.sub("", html)
            self.assertIsNone(LOADS.search(without_data), name)
            self.assertNotIn("<img", html, name)

    def test_their_data_is_json_of_the_command(self):
        for name, html in self.pages():
            page = json.loads(BLOCK.search(html).group(1))
            self.assertEqual(page["kind"], name)
        page = json.loads(BLOCK.search((self.home / "run" / "report.html").read_text()).group(1))
        self.assertEqual(page["data"], json.loads((self.home / "run" / "metrics.json").read_text()))
        self.assertTrue(any(lane["path"] for rank in page["timeline"]["ranks"] for lane in rank["lanes"]))
        self.assertIn("<svg", page["machine"])

    def test_they_are_small(self):
        for name, html in self.pages():
            self.assertLess(len(html), 3_000_000, name)

    def test_the_manifest_lists_them(self):
        listed = (self.home / "run" / "manifest.json").read_text()
        self.assertIn("report.html", listed)

    def test_their_scripts_are_javascript(self):
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        scripts = SCRIPT.findall((self.home / "run" / "report.html").read_text())
        self.assertEqual(len(scripts), 5)
        for number, script in enumerate(scripts):
            file = self.home / f"script{number}.js"
            file.write_text(script)
            done = subprocess.run(["node", "--check", file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_browser_draws_them(self):
        browser = shutil.which("chromium")
        if browser is None:
            self.skipTest("chromium is not installed")
        for name, sections in (("run", ["Where the step goes", "Timeline of one step", "Critical path", "Busiest links"]),
                               ("sweep", ["All points"]), ("compare", ["Parts of the step"])):
            done = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=4000",
                                   f"--user-data-dir={self.home}/profile", f"file://{self.home}/{name}/report.html"],
                                  capture_output=True, text=True, timeout=120)
            for section in sections:
                self.assertIn(f"<h2>{section}</h2>", done.stdout, name)


class View(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name) / "results"
        self.folder.mkdir()
        (self.folder / "report.html").write_text("<p>page</p>")
        (Path(self.scratch.name) / "secret").write_text("secret")
        self.server = subprocess.Popen([LOCKSTEP, "view", self.folder], stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", self.server.stdout.readline()).group(1))

    def tearDown(self):
        self.server.terminate()
        self.server.wait()
        self.server.stdout.close()
        self.scratch.cleanup()

    def ask(self, method, target, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, target, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found

    def test_it_shows_the_report(self):
        self.assertEqual(self.ask("GET", "/"), (200, "<p>page</p>"))
        self.assertEqual(self.ask("HEAD", "/report.html"), (200, ""))

    def test_it_shows_nothing_else(self):
        self.assertIn(self.ask("GET", "/../secret")[0], (403, 404))
        self.assertIn(self.ask("GET", "/%2e%2e/secret")[0], (403, 404))
        self.assertEqual(self.ask("GET", "/", host="evil.example")[0], 403)
        self.assertEqual(self.ask("POST", "/report.html")[0], 405)


if __name__ == "__main__":
    unittest.main()
