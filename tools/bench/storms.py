# SPDX-License-Identifier: Apache-2.0
"""What the flight recorder costs the programs of a busy machine: storms of page faults, copies on
write, forks and writes, each with and without a tracer.

The machine's own speed drifts by more than what is looked for, so a run with a tracer is set against
the two runs without one that stand right before and right after it: without, A, without, B, without, ...
The order of the tracers within a round is drawn anew for each round, from a fixed seed."""
import os
import random
import re
import signal
import subprocess
import tempfile
import time

from lib import (QUICK, BENCH, BpfStats, Cgroups, Tracer, last_stop, median, program_name, progress,
                 quartiles, section, table, wait_quiet)

ROUNDS = int(os.environ.get("OOMSNOOP_BENCH_ROUNDS", "21"))
RUN_NS = 300e6
LONG = 10
SETTLE = 0.3


class Storm:
    """One kind of load: a number of operations that takes about RUN_NS without a tracer."""

    def __init__(self, name, args, needs_faults=True):
        self.name = name
        self.args = args
        self.count = 0
        self.faults_each = 1 if needs_faults else 0

    def once(self, count, cgroup, *options):
        """Of one operation: nanoseconds by the clock and on the CPU; and how many there were."""
        done = subprocess.run([os.path.join(BENCH, "faults"), "-c", cgroup, *options, *self.args,
                               str(count)], capture_output=True, text=True, check=True)
        operations, clock, cpu, faults = map(int, done.stdout.split())
        if faults < operations * self.faults_each:
            raise SystemExit(f"bench: {self.name}: {faults} page faults for {operations} operations")
        return clock / operations, cpu / operations, operations

    def calibrate(self, cgroup):
        count = 64
        while True:
            clock, _, operations = self.once(count, cgroup)
            workers = operations // count
            if clock * operations > RUN_NS / 4:
                break
            count *= 4
        self.count = max(64, int(RUN_NS / (clock * workers)))

    def run(self, cgroup):
        return self.once(self.count, cgroup)

    def run_long(self, cgroup):
        """So long that what the program needs for itself does not count. The number of operations:
        all that were done."""
        return self.once(self.count * LONG, cgroup, "-w")[2]


# --- what is attached meanwhile ---

class Oomsnoop:
    def __init__(self, args):
        self.tracer = Tracer(args=args)
        self.pid = self.tracer.process.pid

    def stop(self):
        recorder = last_stop(self.tracer.stop()).get("recorder", {})
        return {"armed": recorder.get("armed", 0)}


class Bpftrace:
    """Attached once the kernel says that its program is on the event."""

    def __init__(self, script):
        self.dir = tempfile.TemporaryDirectory(prefix="oomsnoop-bench-")
        self.output = os.path.join(self.dir.name, "output")
        done = subprocess.run([os.path.join(BENCH, "stopwatch"), "-a", "-k", "-o", self.output, "--",
                               "bpftrace", "-e", script], capture_output=True, text=True, check=True)
        self.pid = int(done.stdout.split()[0])

    def stop(self):
        for _ in range(200):
            try:
                os.kill(self.pid, signal.SIGINT)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        else:
            raise SystemExit("bench: bpftrace does not end")
        with open(self.output, encoding="utf-8") as file:
            counts = re.findall(r"^@\[\d+\]: (\d+)", file.read(), re.M)
        self.dir.cleanup()
        return {"counted": sum(map(int, counts))}


VARIANTS = {
    "oomsnoop": lambda: Oomsnoop([]),
    "oomsnoop --faults always": lambda: Oomsnoop(["--faults", "always"]),
    "oomsnoop --faults always --fault-period 1":
        lambda: Oomsnoop(["--faults", "always", "--fault-period", "1"]),
    "oomsnoop --without recorder,charge,faults":
        lambda: Oomsnoop(["--without", "recorder,charge,faults"]),
    "bpftrace, software:page-faults:1":
        lambda: Bpftrace("software:page-faults:1 { @[pid] = count(); }"),
    "bpftrace, tracepoint:exceptions:page_fault_user":
        lambda: Bpftrace("tracepoint:exceptions:page_fault_user { @[pid] = count(); }"),
}

if QUICK:
    VARIANTS = {name: VARIANTS[name] for name in ("oomsnoop", "oomsnoop --faults always")}


class Measurement:
    """All storms of a section under all variants."""

    def __init__(self, storms, rounds=ROUNDS):
        self.storms = storms
        self.rounds = rounds
        self.variants = dict(VARIANTS)
        self.alone = {storm: [] for storm in storms}
        self.seen = {(name, storm): [] for name in VARIANTS for storm in storms}
        self.stats = {}
        with Cgroups(1, None) as cgroups:
            self.cgroup = cgroups.paths[0]
            for storm in storms:
                storm.calibrate(self.cgroup)
            with BpfStats():
                for name in VARIANTS:
                    self.count_programs(name)
            for turn in range(rounds):
                self.round(turn)

    def run_all(self):
        return {storm: storm.run(self.cgroup) for storm in self.storms}

    def start(self, name):
        try:
            tracer = self.variants[name]()
        except subprocess.CalledProcessError as error:
            progress(f"{name}: {error.stderr.strip()}")
            del self.variants[name]
            return None
        time.sleep(SETTLE)
        return tracer

    def stop(self, name, tracer):
        """False: it was not what its name says, since somebody else's limit was near meanwhile."""
        said = tracer.stop()
        if said.get("counted") == 0 or ("always" in name and not said["armed"]):
            raise SystemExit(f"bench: {name}: counted no page faults")
        if said.get("armed") and "always" not in name:
            progress(f"{name}: another limit of this machine was near, so page faults were counted")
            return False
        return True

    def count_programs(self, name):
        """Apart from the timed rounds, since counting costs time."""
        wait_quiet()
        tracer = self.start(name)
        if not tracer:
            return
        for storm in self.storms:
            before = BpfStats.runs(tracer.pid)
            operations = storm.run_long(self.cgroup)
            spent = BpfStats.since(before, BpfStats.runs(tracer.pid))
            self.stats[name, storm] = [
                (program_name(number), runs / operations, ns / operations)
                for number, (runs, ns) in spent.items() if runs]
        if not self.stop(name, tracer):
            self.count_programs(name)

    def round(self, turn):
        progress(f"{self.storms[0].name} and so on: round {turn + 1}/{self.rounds}")
        wait_quiet()
        order = list(self.variants)
        random.Random(turn).shuffle(order)
        before = self.run_all()
        for name in order:
            tracer = self.start(name)
            if not tracer:
                continue
            beside = self.run_all()
            valid = self.stop(name, tracer)
            after = self.run_all()
            for storm in self.storms if valid else ():
                self.add(name, storm, (before[storm], beside[storm], after[storm]))
            before = after

    def add(self, name, storm, runs):
        clock, cpu = ([run[i] for run in runs] for i in (0, 1))
        self.alone[storm].append(runs[0])
        self.seen[name, storm].append({
            "clock": 2 * clock[1] / (clock[0] + clock[2]),
            "cpu": 2 * cpu[1] / (cpu[0] + cpu[2]),
            "added": cpu[1] - (cpu[0] + cpu[2]) / 2})

    def print(self):
        for storm in self.storms:
            self.print_storm(storm)
        self.print_programs(self.storms[0])

    def print_storm(self, storm):
        alone = self.alone[storm]
        print(f"**{storm.name}**: without a tracer {1e9 / median([run[0] for run in alone]):,.0f} "
              f"a second, {median([run[1] for run in alone]):,.0f} ns of CPU time each "
              f"({len(alone)} runs).\n")
        rows = []
        for name in VARIANTS:
            seen = self.seen[name, storm]
            if not seen:
                rows.append([name, "does not attach here"] + [""] * 6)
                continue
            row = [name]
            for which in ("clock", "cpu"):
                low, middle, high = quartiles([one[which] for one in seen])
                row += [f"{middle:.3f}", f"{low:.3f} to {high:.3f}"]
            programs = self.stats[name, storm]
            rows.append(row + [f"{median([one['added'] for one in seen]):+,.0f} ns",
                               f"{sum(runs for _, runs, _ in programs):.3f}",
                               f"{sum(ns for _, _, ns in programs):,.0f} ns"])
        table(["beside it", "clock, with over without", "quartiles", "CPU, with over without",
               "quartiles", "added CPU time each", "BPF programs run each", "time in them each"], rows)

    def print_programs(self, storm):
        rows = [[name, program, f"{runs:.4f}", f"{ns / runs:,.0f} ns"]
                for name in VARIANTS if (name, storm) in self.stats
                for program, runs, ns in sorted(self.stats[name, storm], key=lambda one: -one[2])
                if runs >= 0.0005]
        print(f"Which programs those are, for `{storm.name}`:\n")
        table(["beside it", "BPF program", "runs each", "time of one run"], rows)


HOW = (f"{ROUNDS} rounds. In each the variants take turns in an order that is drawn anew; a run of 0.3 s "
       "beside a tracer is set against the mean of\nthe two runs without one right before and right "
       "after it, and the ratio is of the time an operation takes: 1.00 is nothing, 1.05 is\n5 % more. "
       "All runs in a memory cgroup of its own, without a limit. CPU time is that of the load, in user "
       "space and kernel; by the clock, a tracer's\nown work shows too where it takes the CPU from the "
       "load. `BPF programs run each` and the time in them are the kernel's own count of one more run,\n"
       "ten times as long (bpf_stats_enabled; that counting is in the times of this column).")


def faults():
    section("Page faults", "tools/bench/run faults",
            HOW + " An operation is the first touch of an anonymous page of 4 KiB, mapped\nand given "
            "back in pieces of 16 MiB.")
    Measurement([Storm("first touch, 1 process", ["touch"]),
                 Storm("first touch, 2 processes", ["-n", "2", "touch"]),
                 Storm("first touch, 2 threads of one process", ["-n", "2", "-t", "touch"])]).print()


def cow():
    section("Copies on write", "tools/bench/run cow",
            HOW + " An operation is the write to a page of 4 KiB that a child shares\nwith its parent: "
            "4096 of them, then the child ends and the next is forked.")
    Measurement([Storm("copy on write, 1 process", ["cow"]),
                 Storm("copy on write, 2 processes", ["-n", "2", "cow"])]).print()


def forks():
    section("Forks and execs", "tools/bench/run forks",
            HOW + " An operation is a fork, the child's exit and the\nparent's wait; or with an exec of "
            "/bin/true in between.")
    Measurement([Storm("fork, exit", ["fork"]), Storm("fork, exec, exit", ["exec"]),
                 Storm("fork, exec, exit, 2 processes", ["-n", "2", "exec"])]).print()


def tmpfs():
    section("Writes to tmpfs and to the page cache", "tools/bench/run tmpfs",
            HOW + " An operation is a write(2) of 64 KiB, so 16 pages are\ncharged; the file is cut to "
            "nothing at every 16 MiB.")
    name = f"oomsnoop-bench-{os.getpid()}"
    storms = [Storm("write to a file on disk", ["-f", os.path.join(BENCH, name), "write"], False)]
    if os.path.ismount("/dev/shm"):
        shm = ["-f", os.path.join("/dev/shm", name), "write"]
        storms = [Storm("write to tmpfs", shm, False),
                  Storm("write to tmpfs, 2 processes", ["-n", "2", *shm], False)] + storms
    Measurement(storms).print()
