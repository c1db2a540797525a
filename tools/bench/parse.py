# SPDX-License-Identifier: Apache-2.0
"""What reading kernel logs costs: oomsnoop parse on large logs, beside grep."""
import os
import subprocess
import sys
import tempfile
import time

from lib import QUICK, SHARED, TOP, median, progress, quartiles, section, table, wait_quiet

FILL = os.path.join(TOP, "tools", "bench", "fillsyslog.py")
PARSE = [SHARED, "parse", "--json", "-q"]
MB = 1000 * 1000


def seconds_of(command):
    """Of wall clock and of CPU. Into a file: grep whose output is /dev/null ends at the first match."""
    before = os.times()
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out:
        subprocess.run(command, check=True, stdout=out)
    lasted, after = time.monotonic() - begun, os.times()
    return lasted, (after.children_user + after.children_system - before.children_user - before.children_system)


def count(command):
    return int(subprocess.run(command, check=True, capture_output=True).stdout)


def peak_kib(path):
    """Of its own memory: what wait4() tells counts the parent's, too, from before the exec."""
    with open(path, "rb") as log:
        process = subprocess.Popen(PARSE, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while data := log.read(1 << 20):
            process.stdin.write(data)
        process.stdin.flush()
        # All but what the pipe holds is read, and it waits for more.
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        process.stdin.close()
        if process.wait(60):
            raise SystemExit("bench: oomsnoop parse failed")
    return peak


def fill(path, kind, size):
    progress(f"parse: filling {kind}")
    with open(path, "wb") as log:
        subprocess.run([sys.executable, FILL, kind, str(size)], stdout=log, check=True)


def mixed(folder, size, turns):
    path = os.path.join(folder, "mixed.log")
    fill(path, "mixed", size)
    commands = {"oomsnoop parse": PARSE + [path], "grep -c oom-kill": ["grep", "-c", "oom-kill", path]}
    reports = count(["grep", "-c", "invoked oom-kill", path])
    told = subprocess.run(commands["oomsnoop parse"], check=True, capture_output=True).stdout.count(b"\n")
    if told != reports:
        raise SystemExit(f"bench: {told} records of {reports} reports")
    wait_quiet()
    times = {name: [] for name in commands}
    for turn in range(turns):
        progress(f"parse {turn + 1}/{turns}")
        for name, command in commands.items():
            times[name].append(seconds_of(command))
    rows = []
    for name, values in times.items():
        rows.append([name, *(f"{median([value[i] for value in values]):.3f} s, "
                             "{:.3f} … {:.3f}".format(*quartiles([value[i] for value in values])[::2])
                             for i in (0, 1)),
                     *(f"{median([a[i] / max(b[i], 0.001) for a, b in zip(values, times['grep -c oom-kill'])]):.2f}"
                       for i in (0, 1))])
    table([f"{os.path.getsize(path) / MB:,.0f} MB, {reports} reports", "wall: median, quartiles", "CPU: median, quartiles",
           "ratio, wall", "ratio, CPU"], rows)
    peak = peak_kib(path)
    os.remove(path)
    return peak


def only_reports(folder, size, turns):
    path = os.path.join(folder, "reports.log")
    fill(path, "reports", size)
    reports = count(["grep", "-c", "invoked oom-kill", path])
    wait_quiet()
    times = []
    for turn in range(turns):
        progress(f"parse, reports {turn + 1}/{turns}")
        times.append(seconds_of(PARSE + [path])[0])
    rates = [os.path.getsize(path) / MB / seconds for seconds in times]
    table([f"{os.path.getsize(path) / MB:,.0f} MB, {reports:,} reports of 200 processes", "median", "quartiles"],
          [["MB/s", f"{median(rates):.0f}", "{:.0f} … {:.0f}".format(*quartiles(rates)[::2])],
           ["reports/s", f"{reports / median(times):,.0f}", ""]])
    peak = peak_kib(path)
    os.remove(path)
    return peak


def logs(turns=3 if QUICK else 11, size=int(os.environ.get("OOMSNOOP_BENCH_LOG_MB", "1000")) * MB):
    section("Reading large logs", "tools/bench/run parse",
            "A syslog with one report for every 10 MB (tools/bench/fillsyslog.py): `oomsnoop parse`, which judges\n"
            f"every report, and `grep -c oom-kill`, in turns, {turns} of each, from the page cache; ratios are of each pair. A\n"
            "log that is nothing but reports, each of 200 processes. Last, the peak of resident memory.")
    with tempfile.TemporaryDirectory(dir=os.environ.get("OOMSNOOP_BENCH_DIR")) as folder:
        peaks = [mixed(folder, size, turns), only_reports(folder, size, min(turns, 5))]
    table(["peak of memory", "KiB"], [["one report for every 10 MB", f"{peaks[0]:,}"],
                                      ["nothing but reports", f"{peaks[1]:,}"]])
