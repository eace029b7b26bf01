#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens pages in headless Chromium and checks that they are readable. Called by tests.

    open_pages.py [--pictures DIRECTORY] PAGE...

Each page is opened in windows of 1280 and 400 pixels width, with a light and with a dark colour
scheme. The script prints a line for each text of a plot that is cut off, too small, or overlaps
another text, for each text of the page with too little contrast, and for a page that is wider than
its window. The status is 1 if there is such a line, and 77 without a browser. With --pictures,
screenshots are kept as PNGs.

The browser is controlled by Chrome's DevTools protocol over pipes: JSON messages that end with a zero byte.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WIDTHS = (1280, 400)
HEIGHT = 900
SCHEMES = ("light", "dark")
LOOK = """(() => {
    const found = [], GAP = 1, SMALLEST = 8, CONTRAST = 4.5;
    const say = (what) => found.push(what);
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) say(`the page is ${root.scrollWidth} pixels wide`);
    for (const svg of document.querySelectorAll("svg")) {
        const frame = svg.getBoundingClientRect(), seen = [];
        for (const text of svg.querySelectorAll("text")) {
            const box = text.getBoundingClientRect(), words = text.textContent.trim();
            if (!words) continue;
            if (box.left < frame.left - GAP || box.right > frame.right + GAP || box.top < frame.top - GAP ||
                box.bottom > frame.bottom + GAP) say(`'${words}' is cut off`);
            const matrix = text.getScreenCTM();
            const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b);
            if (size < SMALLEST) say(`'${words}' is ${size.toFixed(1)} pixels high`);
            for (const [other, theirs] of seen)
                if (box.left + GAP < theirs.right && theirs.left + GAP < box.right && box.top + GAP < theirs.bottom &&
                    theirs.top + GAP < box.bottom && area(box, theirs) > 0.1) say(`'${words}' runs into '${other}'`);
            seen.push([words, box]);
        }
        if (!seen.length) say("a plot has no text");
    }
    // Boxes of lines are higher than letters, so lines above each other may overlap a little.
    function area(a, b) {
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        return high / Math.min(a.height, b.height) - 0.25;
    }
    const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
    const luminance = (rgb) => {
        const [r, g, b] = rgb.slice(0, 3).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const colour = parts(getComputedStyle(element).backgroundColor);
            if (colour.length === 3 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    const reported = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const words = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
        if (!words || element.closest("svg, style")) continue;
        const colours = [parts(getComputedStyle(element).color), behind(element)];
        const [dark, light] = colours.map(luminance).sort((a, b) => a - b);
        const contrast = (light + 0.05) / (dark + 0.05), key = colours.join();
        if (contrast < CONTRAST && !reported.has(key)) {
            reported.add(key);
            say(`'${words.slice(0, 40)}' stands out by ${contrast.toFixed(1)} only`);
        }
    }
    return found;
})()"""


class Browser:
    def __init__(self, program, directory):
        down, up = os.pipe(), os.pipe()
        # Chromium reads from descriptor 3, and writes to 4.
        command = 'exec 3<&%d 4>&%d; exec "$@" 2> "$0"' % (down[0], up[1])
        self.log = os.path.join(directory, "log")
        self.process = subprocess.Popen(
            ["bash", "-c", command, self.log, program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
             "--user-data-dir=" + directory], pass_fds=(down[0], up[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(down[0])
        os.close(up[1])
        self.requests, self.answers = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")
        self.number, self.rest, self.session, self.loaded = 0, b"", None, False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def receive(self):
        """Receives and returns the next message."""
        while b"\0" not in self.rest:
            more = self.answers.read1(1 << 16)
            if not more:
                sys.exit("open_pages.py: the browser has ended: " + pathlib.Path(self.log).read_text()[-1000:])
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        self.loaded = self.loaded or message.get("method") == "Page.loadEventFired"
        return message

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        self.requests.write(json.dumps(request).encode() + b"\0")
        self.requests.flush()
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit("open_pages.py: %s: %s" % (method, message["error"]))
                return message["result"]

    def open(self, page, width, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.loaded = False
        answer = self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        if "errorText" in answer:
            sys.exit("open_pages.py: %s: %s" % (page, answer["errorText"]))
        while not self.loaded:
            self.receive()

    def look(self):
        answer = self.call("Runtime.evaluate", expression=LOOK, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit("open_pages.py: %s" % answer["exceptionDetails"])
        return answer["result"]["value"]

    def picture(self, path):
        png = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(png))

    def end(self):
        self.requests.close()
        self.process.wait()


def main(arguments):
    if arguments[:1] == ["--help"]:
        print(__doc__.strip())
        return 0
    pictures = None
    if arguments[:1] == ["--pictures"]:
        pictures, arguments = arguments[1], arguments[2:]
    program = shutil.which("chromium")
    if not program:
        print("there is no chromium")
        return 77
    bad = not arguments
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        browser = Browser(program, directory)
        for page in arguments:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    browser.open(page, width, scheme)
                    if pictures:
                        name = os.path.basename(os.path.dirname(os.path.abspath(page)))
                        browser.picture(os.path.join(pictures, "%s-%d-%s.png" % (name, width, scheme)))
                    for complaint in browser.look():
                        bad = True
                        print("%s, %d wide, %s: %s" % (page, width, scheme, complaint))
        browser.end()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
