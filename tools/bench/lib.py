# SPDX-License-Identifier: Apache-2.0
"""What the measurements share: the machine, cgroups of our own, the tracer, the account of the
victims, and tables."""
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("OOMSNOOP_BUILD", os.path.join(TOP, "build"))
BENCH = os.path.join(BUILD, "bench")
SHARED = os.path.join(BUILD, "oomsnoop")
STATIC = os.path.join(BUILD, "oomsnoop-static")
MIB = 1 << 20
# Only the tool at its defaults, beside nothing: minutes in place of an hour.
QUICK = os.environ.get("OOMSNOOP_BENCH_QUICK") == "1"
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def progress(text):
    print("bench: " + text, file=sys.stderr, flush=True)


# --- quiet ---

WAIT = int(os.environ.get("OOMSNOOP_BENCH_WAIT", "60"))


def busy_share():
    """Of all CPUs, over a second."""
    def read():
        with open("/proc/stat", encoding="utf-8") as file:
            fields = list(map(int, file.readline().split()[1:]))
        return sum(fields[:8]), fields[3] + fields[4]
    total, idle = read()
    time.sleep(1)
    total_after, idle_after = read()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def wait_quiet():
    """Waits until others leave the CPUs alone, but no longer than WAIT seconds."""
    deadline = time.monotonic() + WAIT
    while busy_share() > 0.05:
        if time.monotonic() > deadline:
            progress("the machine is busy with other work: goes on all the same")
            return


# --- figures ---

def quantile(values, q):
    """By nearest rank: a figure that was measured, never one between two."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, -(-int(q * 1000) * len(ordered) // 1000) - 1))]


def quartiles(values):
    return [quantile(values, q) for q in (0.25, 0.5, 0.75)]


def median(values):
    return statistics.median(values)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def section(title, command, how):
    print(f"## {title}\n\n    {command}\n\n{how}\n", flush=True)


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def head():
    version = subprocess.run([SHARED, "--version"], capture_output=True, text=True,
                             check=False).stdout.strip()
    print(f"""# Figures

Printed by `make bench` (`tools/bench/run > docs/figures.md` writes this page anew; each section
names the command for it alone). Times of different machines cannot be compared, so where it can be
the figure is a ratio of runs that took turns.

- {version or "oomsnoop"}, {time.strftime("%Y-%m-%d")}
- {os.cpu_count()} CPUs ({cpu_model()}), Linux {platform.release()}, load before the run: \
{os.getloadavg()[0]:.1f}
""", flush=True)


# --- cgroups ---

class Cgroups:
    """count cgroups of limit MiB each (None: no limit), below one of our own."""

    def __init__(self, count, limit):
        self.version, mount = memory_mount()
        self.parent = os.path.join(mount, f"oomsnoop-bench-{os.getpid()}")
        os.mkdir(self.parent)
        if self.version == 2:
            write(os.path.join(self.parent, "cgroup.subtree_control"), "+memory")
        self.paths = [os.path.join(self.parent, f"c{i}") for i in range(count)]
        for path in self.paths:
            os.mkdir(path)
            if limit is not None:
                write(os.path.join(path, self.limit_name()), str(limit * MIB))

    def limit_name(self):
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"

    def kills(self):
        """What the kernel counted, over all of them."""
        name = "memory.oom_control" if self.version == 1 else "memory.events.local"
        total = 0
        for path in self.paths:
            with open(os.path.join(path, name), encoding="utf-8") as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        total += int(line.split()[1])
        return total

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in self.paths + [self.parent]:
            remove(path)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def remove(path):
    for _ in range(500):
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
    progress(f"cannot remove {path}")


def memory_mount():
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    for _, where, kind, options, *_ in mounts:
        if kind == "cgroup" and "memory" in options.split(","):
            return 1, where
    for _, where, kind, *_ in mounts:
        if kind == "cgroup2":
            return 2, where
    sys.exit("bench: no memory controller is mounted")


# --- victims ---

class Account:
    """What the victims' parent saw."""

    def __init__(self, text):
        self.killed = {}
        self.survived = 0
        self.released_ns = self.ended_ns = None
        for line in text.splitlines():
            word, *rest = line.split()
            if word == "victim" and rest[1] == "9":
                self.killed[int(rest[0])] = int(rest[2])
            elif word == "victim":
                self.survived += 1
            elif word == "released":
                self.released_ns = int(rest[0])
            elif word == "ended":
                self.ended_ns = int(rest[0])

    def seconds(self):
        return (self.ended_ns - self.released_ns) / 1e9


def run_victims(cgroups, mib, count, sequential=False):
    command = [os.path.join(BENCH, "victims"), "-m", str(mib), "-n", str(count)]
    if sequential:
        command.append("-s")
    done = subprocess.run(command + cgroups.paths, capture_output=True, text=True, check=True)
    return Account(done.stdout)


# --- what a process costs ---

def cpu_ms(pid):
    """On the CPU so far; exact where the scheduler tells it, else in ticks of the clock."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
            ran = int(file.read().split()[0]) / 1e6
        if ran:
            return ran
    except OSError:
        pass
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_MS


def bpf_objects(pid, kind):
    """The BPF programs ("prog") or maps ("map") that a process holds: id -> what fdinfo tells."""
    found = {}
    folder = f"/proc/{pid}/fdinfo"
    for name in os.listdir(folder):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue
        fields = {key: value.strip() for key, value in fields.items()}
        # A link tells the id of its program, too, but not its type.
        if kind + "_id" in fields and kind + "_type" in fields:
            found[int(fields[kind + "_id"])] = fields
    return found


class BpfStats:
    """Has the kernel count and time the runs of BPF programs (it takes the time of two readings of
    the clock for each run)."""

    PATH = "/proc/sys/kernel/bpf_stats_enabled"

    def __enter__(self):
        with open(self.PATH, encoding="utf-8") as file:
            self.before = file.read().strip()
        write(self.PATH, "1")
        return self

    def __exit__(self, *_):
        write(self.PATH, self.before)

    @staticmethod
    def runs(pid):
        """id -> (runs, nanoseconds)."""
        return {number: (int(fields["run_cnt"]), int(fields["run_time_ns"]))
                for number, fields in bpf_objects(pid, "prog").items() if "run_cnt" in fields}

    @staticmethod
    def since(before, after):
        return {number: (after[number][0] - before.get(number, (0, 0))[0],
                         after[number][1] - before.get(number, (0, 0))[1]) for number in after}


def program_name(number):
    done = subprocess.run(["bpftool", "-j", "prog", "show", "id", str(number)],
                          capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)["name"]
    except (ValueError, KeyError):
        return str(number)


class Idle:
    """count processes that do nothing, or with `-i MS` change their memory now and then."""

    def __init__(self, count, args=(), cgroups=()):
        self.process = subprocess.Popen([os.path.join(BENCH, "idle"), *args, str(count), *cgroups],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"READY\n":
            sys.exit("bench: cannot start the idle processes")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# --- the tracer ---

class Tracer:
    """oomsnoop --json with a reader that stamps every line."""

    def __init__(self, binary=SHARED, args=()):
        self.dir = tempfile.TemporaryDirectory(prefix="oomsnoop-bench-")
        self.lines = os.path.join(self.dir.name, "lines")
        ready, ready_write = os.pipe()
        with open(os.path.join(self.dir.name, "stderr"), "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [binary, "--json", "--ready-fd", str(ready_write), *args],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                pass_fds=[ready_write])
        os.close(ready_write)
        self.reader = subprocess.Popen([os.path.join(BENCH, "stamp"), self.lines],
                                       stdin=self.process.stdout)
        self.process.stdout.close()
        said = os.read(ready, 16)
        os.close(ready)
        if said != b"READY\n":
            sys.exit("bench: oomsnoop did not get ready: " + self.errors())

    def errors(self):
        with open(os.path.join(self.dir.name, "stderr"), encoding="utf-8") as file:
            return file.read()

    def status_kib(self, *names):
        found = {}
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            for line in file:
                name, _, rest = line.partition(":")
                found[name] = rest.split()
        return [int(found[name][0]) for name in names]

    def cpu_ms(self):
        return cpu_ms(self.process.pid)

    def stop(self):
        """Ends it. Lists (arrival ns, record)."""
        self.process.send_signal(signal.SIGTERM)
        return self.finish()

    def finish(self):
        """Its end has come, or will by itself."""
        if self.process.wait(30):
            sys.exit(f"bench: oomsnoop ended with {self.process.returncode}: {self.errors()}")
        self.reader.wait(30)
        records = []
        with open(self.lines, encoding="utf-8") as file:
            for line in file:
                stamp, _, text = line.partition(" ")
                records.append((int(stamp), json.loads(text)))
        self.dir.cleanup()
        return records


def kills(records):
    return [(at, record) for at, record in records
            if record["type"] == "oom" and record["outcome"] == "killed"]


def victims_of(record):
    return [victim["pid"] for victim in record.get("victims", [])]


def last_stop(records):
    stops = [record for _, record in records if record["type"] == "stop"]
    return stops[-1] if stops else {}


def times_told(records, pids):
    """How often each pid is a victim in the records."""
    told = {pid: 0 for pid in pids}
    for _, record in kills(records):
        for pid in victims_of(record):
            if pid in told:
                told[pid] += 1
    return told
