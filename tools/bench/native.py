# SPDX-License-Identifier: Apache-2.0
"""The figures that this machine's own kernel gives."""
import collections
import subprocess
import os
import time

from lib import (BENCH, SHARED, STATIC, Cgroups, Tracer, kills, last_stop, median, progress,
                 quantile, quartiles, run_victims, section, table, times_told)

PEER = ["bpftrace", "-e", 'tracepoint:oom:mark_victim { printf("%d\\n", args->pid); }']


def stopwatch(*command):
    done = subprocess.run([os.path.join(BENCH, "stopwatch"), *command], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        progress(f"{command[-1]}: {done.stderr.strip()}")
        return None
    return [int(field) for field in done.stdout.split()][1:]


def start(runs=21):
    section("Start", "tools/bench/run start",
            "From execve() to attached. oomsnoop: until it writes READY, which is after all its hooks "
            "are on and every\nprocess and cgroup that exists is known by name. bpftrace: a one-line "
            "script on oom:mark_victim, until the\nkernel says that its program is on the tracepoint. "
            "The three take turns; the ratio is within each turn.")
    tools = [("oomsnoop", ["--", SHARED, "--json", "--ready-fd", "9"]),
             ("oomsnoop-static", ["--", STATIC, "--json", "--ready-fd", "9"]),
             ("bpftrace", ["-a", "--", *PEER])]
    seen = {name: [] for name, _ in tools}
    for turn in range(runs):
        progress(f"start {turn + 1}/{runs}")
        for name, command in tools:
            seen[name].append(stopwatch(*command))
    rows = []
    for name, _ in tools:
        good = [run for run in seen[name] if run]
        if not good:
            rows.append([name, "did not attach here"] + [""] * 4)
            continue
        low, middle, high = (f"{value / 1e6:.0f}" for value in quartiles([r[0] for r in good]))
        ratios = [run[0] / own[0] for run, own in zip(seen[name], seen["oomsnoop"]) if run and own]
        rows.append([name, len(good), f"{middle} ms", f"{low} to {high} ms",
                     f"{median(ratios):.2f}", f"{median([r[1] for r in good]) / 1024:.1f} MiB"])
    table(["tool", "runs", "median", "quartiles", "times oomsnoop's", "VmRSS attached"], rows)


def console_level():
    with open("/proc/sys/kernel/printk", encoding="utf-8") as file:
        return int(file.read().split()[0])


def last_exit_ms(record):
    exits = [victim.get("exit_ms") for victim in record.get("victims", [])]
    return max(exits) if exits and None not in exits else None


def latency(count=250, limit=8, mib=16):
    section("From kill to line", "tools/bench/run latency",
            f"{count} kills, one at a time, of a process that fills {limit} MiB. `kill to line`: from "
            "the record's mono_ns (the kernel\nmarks the victim) until another process has read the "
            "whole line from a pipe. A record waits until its victim's memory\nis back, so that is split: "
            "`kill to exit` is the kernel's work and the victim's, to where its exit begins (on kernels "
            "before 6.16: where its\nmemory is back); `exit to line` is the rest of the exit and the "
            "tracer. `wait to line`: from the return of the parent's\nwait(2), which is when anybody "
            "else can know; below zero the line came first. The kernel writes a line to its log\nbefore "
            "the victim may die; where a serial console shows that line (console_loglevel above 3), most "
            "of `kill to exit` is\nthe console: here it is "
            + ("above" if console_level() > 3 else "not above") + ".")
    with Cgroups(1, limit) as cgroups:
        tracer = Tracer()
        account = run_victims(cgroups, mib, count, sequential=True)
        time.sleep(0.3)
        records = tracer.stop()
    split = {"kill to line": [], "kill to exit": [], "exit to line": [], "wait to line": []}
    closed = collections.Counter()
    for at, record in kills(records):
        if record["victim_pid"] not in account.killed:
            continue
        closed[record["closed"]] += 1
        told = (at - record.get("mono_ns", record["mono_us"] * 1000)) / 1e6
        exit_ms = last_exit_ms(record)
        split["kill to line"].append(told)
        split["wait to line"].append((at - account.killed[record["victim_pid"]]) / 1e6)
        if exit_ms is not None:
            split["kill to exit"].append(exit_ms)
            split["exit to line"].append(told - exit_ms)
    table(["", "kills", "p50", "p90", "p99", "max"],
          [[name, len(values)] + [f"{quantile(values, q):.2f} ms" for q in (0.5, 0.9, 0.99, 1)]
           for name, values in split.items() if values])
    print(f"Killed: {len(account.killed)}; records: {len(split['kill to line'])}; closed: "
          + ", ".join(f"{how} {n}" for how, n in closed.items()) + ".\n", flush=True)


class StormRun:
    """One storm, with the tracer or without."""

    def __init__(self, traced, groups, per_group, limit, mib):
        with Cgroups(groups, limit) as cgroups:
            tracer = Tracer() if traced else None
            if tracer:
                self.rest = tracer.status_kib("VmRSS", "VmHWM", "VmLck")
                before = tracer.cpu_ms()
            self.account = run_victims(cgroups, mib, per_group)
            if tracer:
                time.sleep(0.5)
                self.cpu_ms = tracer.cpu_ms() - before
                self.after = tracer.status_kib("VmRSS", "VmHWM", "VmLck")
                self.records = tracer.stop()
            self.counted = cgroups.kills()

    def check(self):
        """How the records stand to what died: (victims, once, twice or more, never, told lost)."""
        told = times_told(self.records, self.account.killed)
        count = collections.Counter(told.values())
        own = [record for _, record in kills(self.records)
               if record["victim_pid"] in self.account.killed]
        return {"victims": len(told), "once": count[1],
                "more": sum(n for times, n in count.items() if times > 1), "never": count[0],
                "stop": last_stop(self.records), "records": own,
                "closed": collections.Counter(record["closed"] for record in own)}


STOP_NAMES = ("lost_events", "lost_candidates", "lost_process_events", "bad_records", "evicted",
              "kernel_log_lost")


def storm(pairs=11, groups=50, per_group=10, limit=8, mib=16):
    total = groups * per_group
    section("A storm", "tools/bench/run storm",
            f"{total} processes in {groups} cgroups of {limit} MiB, all let go at one moment; each "
            f"wants {mib} MiB, so none may live. Its parent sees\neach die by SIGKILL; the kernel "
            "counts in memory.oom_control or memory.events. `once` is what must be: every victim\nin "
            "exactly one record. Storms with the tracer and without take turns; the ratio of their "
            "times is within each pair.")
    runs, ratios = [], []
    for pair in range(pairs):
        progress(f"storm {pair + 1}/{pairs}")
        order = [True, False] if pair % 2 else [False, True]
        both = {traced: StormRun(traced, groups, per_group, limit, mib) for traced in order}
        runs.append(both[True])
        ratios.append(both[True].account.seconds() / both[False].account.seconds())
    checks = [run.check() for run in runs]
    rows = [["victims (died by SIGKILL)", sum(c["victims"] for c in checks)],
            ["oom_kill as the kernel counts", sum(run.counted for run in runs)],
            ["in exactly one record", sum(c["once"] for c in checks)],
            ["in more than one record", sum(c["more"] for c in checks)],
            ["in none", sum(c["never"] for c in checks)]]
    rows += [[f"stop line, `{name}`", sum(c["stop"].get(name, 0) for c in checks)]
             for name in STOP_NAMES]
    closed = sum((c["closed"] for c in checks), collections.Counter())
    rows += [[f"records closed `{how}`", n] for how, n in closed.most_common()]
    table([f"sum of {len(runs)} storms", ""], rows)
    per_kill = [run.cpu_ms * 1000 / c["victims"] for run, c in zip(runs, checks)]
    low, middle, high = quartiles(ratios)
    arrival = [(at - record.get("mono_ns", record["mono_us"] * 1000)) / 1e6
               for run in runs for at, record in kills(run.records)
               if record["victim_pid"] in run.account.killed]
    lag = [(at - run.account.killed[record["victim_pid"]]) / 1e6
           for run in runs for at, record in kills(run.records)
           if record["victim_pid"] in run.account.killed]
    table(["cost", "median", "quartiles"],
          [["time of the storm, with over without", f"{middle:.3f}", f"{low:.3f} to {high:.3f}"],
           ["time of the storm, without", f"{median([r.account.seconds() for r in runs]):.2f} s", ""],
           ["tracer's CPU time a kill", f"{median(per_kill):.0f} µs",
            " to ".join(f"{quantile(per_kill, q):.0f}" for q in (0.25, 0.75)) + " µs"],
           ["tracer's peak (VmHWM)", f"{median([r.after[1] for r in runs]) / 1024:.1f} MiB", ""],
           ["kill to line", f"{quantile(arrival, 0.5):.0f} ms",
            f"p99 {quantile(arrival, 0.99):.0f} ms, max {max(arrival):.0f} ms"],
           ["parent's wait(2) to line", f"{quantile(lag, 0.5):.1f} ms",
            f"p99 {quantile(lag, 0.99):.1f} ms, max {max(lag):.1f} ms"]])
    return runs


def memory(runs=3, groups=50, per_group=10, limit=8, mib=16):
    section("Memory", "tools/bench/run memory",
            f"The shared binary, from /proc/PID/status: after READY, and after a storm of "
            f"{groups * per_group} kills. All of it is locked\n(VmLck), so that it need not be read "
            "back when memory is short. Tables are mapped whole and touched as they fill.")
    seen = []
    for run in range(runs):
        progress(f"memory {run + 1}/{runs}")
        seen.append(StormRun(True, groups, per_group, limit, mib))
    table(["", "VmRSS", "VmHWM", "VmLck (mapped)"],
          [[name] + [f"{median([values(run)[i] for run in seen]) / 1024:.1f} MiB" for i in range(3)]
           for name, values in (("at rest", lambda run: run.rest),
                                ("after the storm", lambda run: run.after))])


LOADS = (("vfork, exec of /bin/true, exit", "exec", 150),
         ("fork, exit", "fork", 400),
         ("first touch of a page", "fault", 100000))


def load(kind, count):
    """Nanoseconds each: by the clock, on the CPU."""
    done = subprocess.run([os.path.join(BENCH, "load"), kind, str(count)], capture_output=True,
                          text=True, check=True)
    return [int(field) / count for field in done.stdout.split()]


def loads(traced):
    """Each load once: kind -> (clock, CPU, the tracer's CPU), of one operation."""
    took = {}
    tracer = Tracer() if traced else None
    for _, kind, count in LOADS:
        before = tracer.cpu_ms() if tracer else 0
        took[kind] = load(kind, count)
        if tracer:
            time.sleep(0.25)
            took[kind].append((tracer.cpu_ms() - before) * 1e6 / count)
    if tracer:
        tracer.stop()
    return took


def left_on(pairs=25, idle=30):
    section("Left on", "tools/bench/run left-on",
            "What a machine pays that has no OOM kill: oomsnoop learns the names of processes as they "
            "start, so forks, execs and exits\npass through it (tools that hook the kill alone pay "
            "nothing here). The cost of a load that runs while oomsnoop is\nattached over that of the "
            "same load without it, in pairs that take turns: 1.00 is nothing. By CPU time, which other "
            "work\nof the machine moves less, and by the clock. `tracer` is what its process spends in "
            "user space for each operation.")
    seen = []
    for pair in range(pairs):
        progress(f"left-on {pair + 1}/{pairs}")
        order = (True, False) if pair % 2 else (False, True)
        seen.append({traced: loads(traced) for traced in order})
    rows = []
    for name, kind, _ in LOADS:
        row = [name, f"{median([pair[False][kind][1] for pair in seen]) / 1e3:.2f} µs"]
        for which in (1, 0):
            ratios = [pair[True][kind][which] / pair[False][kind][which] for pair in seen]
            low, middle, high = quartiles(ratios)
            row += [f"{middle:.3f}", f"{low:.3f} to {high:.3f}"]
        row.append(f"{median([pair[True][kind][2] for pair in seen]) / 1e3:.2f} µs")
        rows.append(row)
    table(["load", "CPU time each, without", "CPU, with over without", "quartiles",
           "clock, with over without", "quartiles", "tracer, each"], rows)
    tracer = Tracer()
    time.sleep(1)
    before, woken = tracer.cpu_ms(), tracer_switches(tracer)
    progress(f"left-on: idle for {idle} s")
    time.sleep(idle)
    spent, woken = tracer.cpu_ms() - before, tracer_switches(tracer) - woken
    tracer.stop()
    table([f"idle for {idle} s", ""],
          [["CPU time", f"{spent:.1f} ms, {spent / idle / 10:.4f} % of one CPU"],
           ["wakeups", f"{woken / idle:.1f} a second"]])


def tracer_switches(tracer):
    return tracer.status_kib("voluntary_ctxt_switches")[0]

