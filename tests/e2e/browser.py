# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium by its driver: W3C WebDriver over HTTP on loopback, standard library only."""
import base64
import json
import os
import re
import select
import shutil
import struct
import subprocess
import time
import urllib.error
import urllib.request
import zlib

PATIENCE = 60


class Browser:
    """One driver and one window."""

    def __init__(self, profile):
        self.session = None
        # It writes its port once it listens, so nothing is guessed or polled for.
        self.driver = subprocess.Popen(
            [shutil.which('chromedriver') or '/usr/bin/chromedriver', '--port=0'],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            self.port = self._port()
            self.session = self._call('POST', '/session', {'capabilities': self._wanted(profile)})[
                'sessionId'
            ]
        except BaseException:
            self.close()
            raise

    def _port(self):
        deadline = time.monotonic() + PATIENCE
        while select.select([self.driver.stdout], [], [], max(deadline - time.monotonic(), 0))[0]:
            line = self.driver.stdout.readline()
            found = re.search(r'started successfully on port (\d+)', line)
            if found:
                return int(found.group(1))
            if not line:
                break
        raise RuntimeError('chromedriver does not start')

    @staticmethod
    def _wanted(profile):
        arguments = [
            '--headless=new',
            '--disable-gpu',
            '--no-first-run',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-dev-shm-usage',
            '--hide-scrollbars',
            f'--user-data-dir={profile}',
        ]
        if os.geteuid() == 0:
            arguments.append('--no-sandbox')
        return {
            'alwaysMatch': {
                'browserName': 'chrome',
                'goog:chromeOptions': {'args': arguments},
                'goog:loggingPrefs': {'browser': 'ALL', 'performance': 'ALL'},
            }
        }

    def _call(self, method, path, body=None):
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.port}{path}',
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={'Content-Type': 'application/json'},
        )
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                request, timeout=PATIENCE
            ) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)['value']['message']) from None

    def call(self, method, path, body=None):
        return self._call(method, f'/session/{self.session}{path}', body)

    def devtools(self, command, **parameters):
        return self.call('POST', '/goog/cdp/execute', {'cmd': command, 'params': parameters})

    def open(self, path):
        self.call('POST', '/url', {'url': f'file://{path}'})

    def run(self, script, *arguments):
        return self.call('POST', '/execute/sync', {'script': script, 'args': list(arguments)})

    def log(self, kind):
        return self.call('POST', '/se/log', {'type': kind})

    def size(self, width, height):
        self.devtools(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name):
        self.devtools(
            'Emulation.setEmulatedMedia',
            features=[{'name': 'prefers-color-scheme', 'value': name}],
        )

    def scripts(self, enabled):
        self.devtools('Emulation.setScriptExecutionDisabled', value=not enabled)

    def screenshot(self):
        return base64.b64decode(self.call('GET', '/screenshot'))

    def whole(self):
        """The whole page, not only what the window shows."""
        answer = self.devtools('Page.captureScreenshot', captureBeyondViewport=True)
        return base64.b64decode(answer['data'])

    def pdf(self):
        answer = self.devtools('Page.printToPDF', printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(answer['data'])

    def pointer(self, *steps):
        """Each step: (x, y), 'down' or 'up'."""
        actions = []
        for step in steps:
            if step == 'down':
                actions.append({'type': 'pointerDown', 'button': 0})
            elif step == 'up':
                actions.append({'type': 'pointerUp', 'button': 0})
            else:
                actions.append(
                    {'type': 'pointerMove', 'duration': 0, 'x': int(step[0]), 'y': int(step[1])}
                )
        source = {
            'type': 'pointer',
            'id': 'mouse',
            'parameters': {'pointerType': 'mouse'},
            'actions': actions,
        }
        self.call('POST', '/actions', {'actions': [source]})

    def wheel(self, x, y, delta, control=False):
        self.devtools(
            'Input.dispatchMouseEvent',
            type='mouseWheel',
            x=int(x),
            y=int(y),
            deltaX=0,
            deltaY=delta,
            modifiers=2 if control else 0,
        )

    def keys(self, text):
        """Typed at whatever has the focus."""
        actions = []
        for key in text:
            actions += [{'type': 'keyDown', 'value': key}, {'type': 'keyUp', 'value': key}]
        self.call(
            'POST', '/actions', {'actions': [{'type': 'key', 'id': 'keys', 'actions': actions}]}
        )

    def close(self):
        if self.session:
            try:
                self.call('DELETE', '')
            except (RuntimeError, OSError):
                pass
        self.driver.terminate()
        try:
            self.driver.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        self.driver.stdout.close()


# --- pictures ---


def _unfilter(kind, line, before, step):
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        for i, above in enumerate(before):
            line[i] = (line[i] + above) & 255
    elif kind == 3:
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            line[i] = (line[i] + (left + before[i]) // 2) & 255
    elif kind == 4:
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            corner = before[i - step] if i >= step else 0
            up = before[i]
            guess = left + up - corner
            distances = abs(guess - left), abs(guess - up), abs(guess - corner)
            best = min(distances)
            nearest = left if distances[0] == best else up if distances[1] == best else corner
            line[i] = (line[i] + nearest) & 255


def pixels(png):
    """(width, height, rows): each row a list of (red, green, blue). Eight bits a channel."""
    if png[:8] != b'\x89PNG\r\n\x1a\n':
        raise ValueError('no PNG')
    at, packed, width, height, step = 8, b'', 0, 0, 0
    while at < len(png):
        length, kind = struct.unpack('>I4s', png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b'IHDR':
            width, height, depth, color = struct.unpack('>IIBB', body[:10])
            if depth != 8 or color not in (2, 6):
                raise ValueError(f'PNG of depth {depth}, colour type {color}')
            step = 3 if color == 2 else 4
        elif kind == b'IDAT':
            packed += body
        at += 12 + length
    raw = zlib.decompress(packed)
    before, rows = bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * step])
        _unfilter(raw[start], line, before, step)
        before = line
        rows.append(list(zip(line[0::step], line[1::step], line[2::step])))
    return width, height, rows
