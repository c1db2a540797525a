# SPDX-License-Identifier: Apache-2.0
"""What the capture store costs: the recorder that writes it, and those who read it."""
import os
import signal
import subprocess
import tempfile
import time

from lib import (BENCH, QUICK, SHARED, Idle, cpu_ms, median, progress, quartiles, section, table,
                 wait_quiet)
from recorder import CHANGING, STILL

DAY = 86400
# What a person would ask the file itself, in place of `list`.
QUERY = ("SELECT incident.time_real_ns, victim.pid, victim.comm, victim.anon_pages, "
         "incident.told_limit_cgroup, incident.told_limit_bytes, incident.told_first_verdict "
         "FROM incident JOIN victim ON victim.incident = incident.id AND victim.n = 0 "
         "ORDER BY incident.time_real_ns")


class Record:
    """oomsnoop record, ready."""

    def __init__(self, store, *options):
        ready, ready_write = os.pipe()
        self.store = store
        self.process = subprocess.Popen(
            [SHARED, "record", "-q", "-o", store, "--ready-fd", str(ready_write), *options],
            stdin=subprocess.DEVNULL, pass_fds=[ready_write])
        os.close(ready_write)
        if os.read(ready, 16) != b"READY\n":
            raise SystemExit("bench: the recorder did not get ready")
        os.close(ready)

    def counters(self):
        with open(f"/proc/{self.process.pid}/io", encoding="ascii") as file:
            written = next(int(line.split()[1]) for line in file if line.startswith("write_bytes"))
        size = sum(os.path.getsize(path) for path in (self.store, self.store + "-wal")
                   if os.path.exists(path))
        return cpu_ms(self.process.pid), written, size

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(30):
            raise SystemExit(f"bench: the recorder ended with {self.process.returncode}")


def store_at_rest(seconds=60 if QUICK else 180, processes=1000):
    section("A recorder left on", "tools/bench/run store-rest",
            f"`oomsnoop record` with {processes:,} idle processes, and with as many of which each "
            f"touches or gives back up to 1 MiB every 10 s, over {seconds} s: CPU of the whole process\n"
            "in percent of one CPU, what the file and its log grew by, and what went to the disk, per day.")
    rows = []
    for name, args in (("idle", STILL), ("changing", CHANGING)):
        for options in ((), ("--series", "incidents")):
            progress(f"store-rest, {name} {' '.join(options)}")
            with Idle(processes, args), tempfile.TemporaryDirectory() as folder:
                time.sleep(15)
                recorder = Record(os.path.join(folder, "oom.db"), *options)
                time.sleep(15)
                begun, (cpu, written, size) = time.monotonic(), recorder.counters()
                time.sleep(seconds)
                lasted, after = time.monotonic() - begun, recorder.counters()
                recorder.end()
            rows.append([f"{processes:,} processes, {name}", " ".join(options) or "defaults",
                         f"{(after[0] - cpu) / lasted / 10:.3f} %",
                         f"{(after[2] - size) / lasted * DAY / (1 << 20):.1f} MiB",
                         f"{(after[1] - written) / lasted * DAY / (1 << 20):.1f} MiB"])
    table(["", "options", "CPU", "file grows a day", "written a day"], rows)


def fill(path, kind, number):
    subprocess.run([os.path.join(BENCH, "fillstore"), path, kind, str(number)], check=True)


def seconds_of(command):
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def store_read(turns=3 if QUICK else 11, mib=500):
    section("Reading a large store", "tools/bench/run store-read",
            f"A store of {mib} MB (tools/bench/fillstore.c: a kill every hour, series between them): "
            f"`oomsnoop list`, which judges every incident again, and `sqlite3` with a query for the\nsame columns, in turns, "
            f"{turns} of each; the ratio is of each pair. Reported: median and quartiles.")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "big.db")
        progress("store-read: filling")
        fill(path, "bytes", mib * 1000 * 1000)
        incidents = subprocess.run([SHARED, "list", path], check=True, capture_output=True).stdout.count(b"\n")
        commands = {"oomsnoop list": [SHARED, "list", path],
                    "oomsnoop list --last 20": [SHARED, "list", path, "--last", "20"],
                    "oomsnoop report --last": [SHARED, "report", path, "--last"],
                    "sqlite3": ["sqlite3", "-readonly", path, QUERY]}
        wait_quiet()
        times = {name: [] for name in commands}
        for turn in range(turns):
            progress(f"store-read {turn + 1}/{turns}")
            for name, command in commands.items():
                times[name].append(seconds_of(command))
    rows = [[name, f"{median(values):.3f} s", "{:.3f} … {:.3f}".format(*quartiles(values)),
             f"{median([a / b for a, b in zip(values, times['sqlite3'])]):.2f}"]
            for name, values in times.items()]
    table([f"{incidents:,} lines", "median", "quartiles", "ratio to sqlite3"], rows)


def store_page(turns=3 if QUICK else 11, processes=500):
    section("A report page", "tools/bench/run store-page",
            f"`oomsnoop report --html` of an incident with 10 minutes of {processes} processes that move "
            f"every second ({processes * 600:,} points), and `sqlite3` that reads the same points;\n{turns} turns.")
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "one.db"), os.path.join(folder, "page.html")
        fill(path, "window", processes)
        wait_quiet()
        own, other = [], []
        for turn in range(turns):
            progress(f"store-page {turn + 1}/{turns}")
            own.append(seconds_of([SHARED, "report", path, "--last", "--html", page]))
            other.append(seconds_of(["sqlite3", "-readonly", path, "SELECT * FROM process_point"]))
        size = os.path.getsize(page)
    table(["", "median", "quartiles"],
          [["report --html", f"{median(own):.3f} s", "{:.3f} … {:.3f}".format(*quartiles(own))],
           ["sqlite3, the points", f"{median(other):.3f} s", "{:.3f} … {:.3f}".format(*quartiles(other))],
           ["ratio", f"{median([a / b for a, b in zip(own, other)]):.2f}", ""],
           ["size of the page", f"{size:,} bytes", ""]])
