# SPDX-License-Identifier: Apache-2.0
"""What the flight recorder itself takes: a pass over all processes, the CPU at rest, memory."""
import subprocess
import os
import statistics
import time

from lib import (QUICK, BENCH, BpfStats, Cgroups, Idle, Tracer, bpf_objects, last_stop, median,
                 program_name, progress, quartiles, section, table, wait_quiet)

# --- a pass ---

# Processes, seconds a turn: the more there are, the longer a pass, and the fewer in a second; the first,
# which fills the tables, must not weigh much.
CENSUS_SIZES = ((100, 10), (1000, 10), (10000, 40))


def read_proc(passes):
    """One mean over the passes: processes, nanoseconds a pass."""
    done = subprocess.run([os.path.join(BENCH, "procread"), str(passes), "50"], capture_output=True,
                          text=True, check=True)
    lines = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    return statistics.mean(line[0] for line in lines), statistics.mean(line[1] for line in lines)


class Passes:
    """A tracer that looks as often as it can for some seconds: nanoseconds a pass by its own word,
    and its whole CPU time over its passes, from outside."""

    def __init__(self, seconds):
        tracer = Tracer(args=["--census", "50ms", "--timeout", f"{seconds}s"])
        began = time.monotonic()
        time.sleep(1)
        before, from_time = tracer.cpu_ms(), time.monotonic()
        time.sleep(seconds - 2)
        spent, lasted = tracer.cpu_ms() - before, time.monotonic() - from_time
        recorder = last_stop(tracer.finish())["recorder"]
        self.passes = recorder["passes"]
        self.pass_ns = recorder["pass_ms"] * 1e6
        whole = min(time.monotonic() - began, seconds)
        self.cpu_ns = spent * 1e6 / (self.passes * lasted / whole)


def census_turn(count, seconds):
    """One turn: the tool, then /proc. Microseconds a process: tool, its CPU, /proc; passes."""
    wait_quiet()
    own = Passes(seconds)
    processes, proc_ns = read_proc(max(3, 10000 // count))
    return (own.pass_ns / processes / 1e3, own.cpu_ns / processes / 1e3, proc_ns / processes / 1e3,
            own.passes)


def census(turns=2 if QUICK else 5):
    section("A pass over all processes", "tools/bench/run census",
            f"What a look at every process costs: a pass of the recorder (`--census 50ms`), and a program "
            "in C that reads the same facts from\n/proc/PID/stat, status, oom_score_adj and cgroup with "
            "plain open, read and close at the same pace (tools/bench/procread.c; page faults and bytes read of each "
            "thread,\nwhich the recorder knows as well, are left out there: /proc/PID/io would be a fifth "
            f"file). They take turns, {turns} each. `a pass` is\nrecorder.pass_ms of the stop "
            "line, so the mean, by the clock: kernel and user space, all tables filled in; `whole tracer` is "
            "its CPU time, from outside, for each pass: all that\nit does besides is in it.")
    rows = []
    for count, seconds in CENSUS_SIZES:
        with Idle(count):
            seen = []
            for turn in range(turns):
                progress(f"census of {count}: {turn + 1}/{turns}")
                seen.append(census_turn(count, seconds))
        low, middle, high = quartiles([one[2] / one[0] for one in seen])
        rows.append([f"{count:,}"] + [f"{median([one[i] for one in seen]):.2f} µs" for i in range(3)]
                    + [f"{middle:.1f}", f"{low:.1f} to {high:.1f}",
                       f"{median([one[2] / one[1] for one in seen]):.1f}",
                       sum(one[3] for one in seen)])
    table(["idle processes", "a pass, each process", "whole tracer, each process",
           "/proc, each process", "/proc over a pass", "quartiles", "/proc over whole tracer",
           "passes"], rows)


# --- at rest ---

REST_OPTIONS = ([], ["--without", "recorder,charge,faults"], ["--faults", "always"],
                ["--faults", "always", "--fault-period", "1"], ["--census", "50ms"],
                ["--growth"], ["--growth", "--min-delta", "256KiB"], ["--warn", "90%,30s"])
STILL, CHANGING = (), ("-i", "10000", "-k", "1024")


def is_iterator(number):
    """Its runs are the tracer's own reads, so they are in the tracer's CPU time already."""
    return program_name(number).endswith("_iter")


def rest_of(options, seconds):
    """CPU time in percent of one CPU: the tracer's, of BPF programs in others' time; passes and
    wakeups a second; lines."""
    tracer = Tracer(args=options)
    time.sleep(2)
    cpu, woken = tracer.cpu_ms(), tracer.status_kib("voluntary_ctxt_switches")[0]
    time.sleep(seconds)
    cpu = tracer.cpu_ms() - cpu
    woken = tracer.status_kib("voluntary_ctxt_switches")[0] - woken
    with BpfStats():
        before = BpfStats.runs(tracer.process.pid)
        time.sleep(seconds / 6)
        spent = BpfStats.since(before, BpfStats.runs(tracer.process.pid))
        elsewhere = sum(ns for number, (_, ns) in spent.items() if not is_iterator(number))
    records = tracer.stop()
    passes = last_stop(records).get("recorder", {}).get("passes", 0)
    whole = 2 + seconds * 7 / 6
    return (cpu / seconds / 10, elsewhere / (seconds / 6) / 1e7, woken / seconds, passes / whole,
            len(records) - 2)


def rest(seconds=30 if QUICK else 60, processes=1000):
    section("At rest", "tools/bench/run rest",
            f"CPU time of the whole tracer in percent of one CPU, over {seconds} s, with {processes:,} "
            "idle processes, and with as many of which each touches\nor gives back up to 1 MiB every 10 "
            "s. `BPF elsewhere`: what its programs take in the time of other processes, over the next "
            f"{seconds // 6} s (the programs of a pass run\nin the tracer's own). `lines`: what it "
            "wrote between its first and its last.")
    for name, args in (("idle", STILL), ("changing", CHANGING)):
        rows = []
        with Idle(processes, args):
            time.sleep(15)
            for options in REST_OPTIONS[:1] if QUICK else REST_OPTIONS:
                progress(f"rest, {name}: {' '.join(options) or 'defaults'}")
                if args == STILL:
                    wait_quiet()
                cpu, elsewhere, woken, passes, lines = rest_of(options, seconds)
                rows.append([" ".join(options) or "defaults", f"{cpu:.3f} %", f"{elsewhere:.4f} %",
                             f"{passes:.2f}", f"{woken:.1f}", lines])
        table([f"{processes:,} processes, {name}", "CPU of the tracer", "BPF elsewhere",
               "passes a second", "wakeups a second", "lines"], rows)


# --- memory ---

MEMORY_OPTIONS = ([], ["--without", "recorder,charge,faults"], ["--window", "10m", "--history", "2h"])


def memlock_bytes(pid, kind):
    return sum(int(fields.get("memlock", "0")) for fields in bpf_objects(pid, kind).values())


def memory_of(options, seconds):
    tracer = Tracer(args=options)
    attached = tracer.status_kib("VmRSS")[0] / 1024
    time.sleep(seconds)
    rss, peak, mapped = (kib / 1024 for kib in tracer.status_kib("VmRSS", "VmHWM", "VmLck"))
    maps, programs = (memlock_bytes(tracer.process.pid, kind) / (1 << 20) for kind in ("map", "prog"))
    return attached, rss, peak, mapped, maps, programs, last_stop(tracer.stop()).get("recorder", {})


def memory(seconds=60 if QUICK else 120, processes=10000, groups=1000):
    section("Memory of the recorder", "tools/bench/run recorder-memory",
            f"{processes:,} processes in {groups:,} memory cgroups, each of which touches or gives back "
            f"up to 128 KiB once a minute, for {seconds} s. VmRSS and VmHWM of the\ntracer, and what the "
            "kernel keeps for its BPF maps and programs (memlock in fdinfo: ring, tables). VmLck is all "
            "that it has mapped: its tables\nare taken whole at start and touched as they fill, so it "
            "never becomes more than that.")
    rows, said = [], []
    with Cgroups(groups, None) as cgroups, Idle(processes, ("-i", "60000", "-k", "128"), cgroups.paths):
        for options in MEMORY_OPTIONS[:1] if QUICK else MEMORY_OPTIONS:
            name = " ".join(options) or "defaults"
            progress(f"recorder-memory: {name}")
            *sizes, recorder = memory_of(options, seconds)
            rows.append([name] + [f"{size:.1f} MiB" for size in sizes]
                        + [f"{sizes[2] + sizes[4] + sizes[5]:.1f} MiB"])
            said.append((name, recorder))
    table(["", "VmRSS attached", "VmRSS after", "VmHWM", "VmLck", "BPF maps", "BPF programs",
           "VmHWM, maps and programs"], rows)
    for name, recorder in said:
        if recorder:
            print(f"Stop line, {name}: " + ", ".join(f"{key} {value}" for key, value in
                                                     recorder.items()) + ".\n")
