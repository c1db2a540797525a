# SPDX-License-Identifier: Apache-2.0
"""What `oomsnoop run` adds to a command: to one that ends at once, and to one that works for seconds.

As in signals.py each run with it stands between two without."""
import os
import subprocess
import sys
import time

from lib import QUICK, SHARED, STATIC, median, progress, quartiles, section, table, wait_quiet

SHORT = int(os.environ.get("OOMSNOOP_BENCH_ROUNDS", "11" if QUICK else "41"))
LONG = int(os.environ.get("OOMSNOOP_BENCH_ROUNDS", "5" if QUICK else "11"))
# Faults on 32 MiB again and again, and computes; what it took of the CPU it says itself.
WORK = """
import mmap, os, sys
for _ in range(12):
    with mmap.mmap(-1, 32 << 20) as memory:
        for at in range(0, 32 << 20, 4096):
            memory[at] = 1
    sum(range(2_000_000))
times = os.times()
print(times.user + times.system)
"""
WRAPS = {
    "oomsnoop run -q": [SHARED, "run", "-q"],
    "oomsnoop-static run -q": [STATIC, "run", "-q"],
    "env": ["env"],
}


def clock(command):
    """Seconds by the clock, and what the command printed."""
    begun = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - begun, done.stdout


def both(command):
    """Milliseconds by the clock and of CPU time, of it and of all that it waited for."""
    begun = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ)
    usage = os.wait4(pid, 0)[2]
    return (time.monotonic() - begun) * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3


def short():
    wait_quiet()
    added, alone = {name: ([], []) for name in WRAPS}, [both(["true"])]
    for round_number in range(SHORT):
        for name, wrap in WRAPS.items():
            with_it = both([*wrap, "true"])
            alone.append(both(["true"]))
            for which in (0, 1):
                added[name][which].append(with_it[which] - (alone[-2][which] + alone[-1][which]) / 2)
        progress(f"run true: round {round_number + 1} of {SHORT}")
    section("A short command", "tools/bench/run run",
            f"`true`, with each less without: {SHORT} pairs. Without: {median([run[0] for run in alone]):.1f} ms by the clock, "
            f"{median([run[1] for run in alone]):.1f} ms of CPU time.")
    rows = []
    for name, (by_clock, by_cpu) in added.items():
        cells = [f"{value:.1f}" for value in (*quartiles(by_clock), *quartiles(by_cpu))]
        rows.append((name, f"{cells[1]} ms", f"{cells[0]} to {cells[2]} ms", f"{cells[4]} ms",
                     f"{cells[3]} to {cells[5]} ms"))
    table(["", "added by the clock", "quartiles", "CPU time added", "quartiles"], rows)


def long():
    wait_quiet()
    command = [sys.executable, "-I", "-S", "-c", WORK]
    wraps = {"oomsnoop run -q": WRAPS["oomsnoop run -q"],
             "oomsnoop run -q --attach-first": [*WRAPS["oomsnoop run -q"], "--attach-first"]}

    def once(wrap):
        lasted, said = clock([*wrap, *command])
        return lasted, float(said)

    ratios, alone = {name: ([], []) for name in wraps}, [once([])]
    for round_number in range(LONG):
        for name, wrap in wraps.items():
            with_it = once(wrap)
            alone.append(once([]))
            for which in (0, 1):
                ratios[name][which].append(with_it[which] * 2 / (alone[-2][which] + alone[-1][which]))
        progress(f"run for seconds: round {round_number + 1} of {LONG}")
    section("A command that works for seconds", "tools/bench/run run",
            f"Faults on 32 MiB again and again, and computes: {median([run[0] for run in alone]):.1f} s without. With it over "
            f"without, {LONG} pairs: by the CPU time of the command itself, and by the clock, the start of the tracer included.")
    rows = []
    for name, (by_clock, by_cpu) in ratios.items():
        cells = [f"{value:.3f}" for value in (*quartiles(by_cpu), *quartiles(by_clock))]
        rows.append((name, cells[1], f"{cells[0]} to {cells[2]}", cells[4], f"{cells[3]} to {cells[5]}"))
    table(["", "CPU time", "quartiles", "clock", "quartiles"], rows)


def run():
    short()
    long()
