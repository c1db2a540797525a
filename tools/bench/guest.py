# SPDX-License-Identifier: Apache-2.0
"""In a guest with a stock kernel: side by side with the tools that people use today, which can attach there,
and how often the BPF programs run."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from lib import BENCH, BUILD, STATIC, TOP, Account, median, progress, section, table

SERIES = "6.1"
STARTS = 5
FAULTS = 200000
SECONDS = 1500
TOOLS = ("oomsnoop", "oomkill", "bpftrace")
NAMES = {"oomsnoop": "oomsnoop-static", "oomkill": "libbpf-tools oomkill", "bpftrace": "bpftrace"}
SCRIPT = """kprobe:oom_kill_process
{
	$oc = (struct oom_control *)arg0;
	printf("KILL %d %s\\n", $oc->chosen->tgid, $oc->chosen->comm);
}
"""
PHASES = (("one", "one kill"),
          ("row", "50 in a row"),
          ("fifty-cgroups", "50 at once, in 50 cgroups of 8 MiB"),
          ("one-cgroup", "50 at once, in one cgroup of 64 MiB"),
          ("crowd", "300 at once, in one cgroup of 64 MiB"),
          ("group", "memory.oom.group, 10 processes"),
          ("workers", "parent and 16 workers of 8 MiB in 64 MiB"))


def libraries(binary):
    """A program with all that it is linked to."""
    said = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    return [binary] + re.findall(r"(/\S+) \(0x", said)


def find_program(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def copy_with_libraries(root, binary):
    for path in libraries(binary):
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copy(os.path.realpath(path), target)


def make_initramfs(root, image):
    for name in ("bin", "sbin", "usr/bin", "usr/sbin", "sys", "dev", "proc", "tmp", "out"):
        os.makedirs(os.path.join(root, name))
    here = os.path.dirname(__file__)
    own = {shutil.which("busybox"): "busybox", STATIC: "oomsnoop",
           os.path.join(BENCH, "victims"): "victims", os.path.join(BENCH, "stopwatch"): "stopwatch",
           os.path.join(BENCH, "faults"): "faults",
           os.path.join(BUILD, "tests/workloads/forkeat"): "forkeat"}
    for source, name in own.items():
        shutil.copy(source, os.path.join(root, "bin", name))
    os.symlink("busybox", os.path.join(root, "bin/sh"))
    shutil.copy(os.path.join(here, "guest-init"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    with open(os.path.join(root, "oomkill.bt"), "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    for name in ("oomkill", "bpftrace", "bpftool"):
        copy_with_libraries(root, find_program(name))
    # Not compressed: unpacking under emulation would take longer than reading.
    names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    with open(image, "wb") as file:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "--owner", "0:0"], cwd=root,
                       input=names, stdout=file, check=True)
    shutil.rmtree(root)


def boot(kernel, image, out, what):
    console, results = os.path.join(out, "console.log"), os.path.join(out, "results.tar.gz")
    append = (f"console=ttyS0 loglevel=1 panic=-1 rdinit=/init mitigations=off rootfstype=ramfs "
              f"printk.devkmsg=on bench.what={what} bench.starts={STARTS} bench.faults={FAULTS}")
    subprocess.run(
        ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-m", "2048", "-smp",
         "2", "-nodefaults", "-display", "none", "-monitor", "none", "-no-reboot",
         "-chardev", f"file,id=console,path={console}", "-serial", "chardev:console",
         "-chardev", f"file,id=results,path={results}", "-serial", "chardev:results",
         "-kernel", kernel, "-initrd", image, "-append", append],
        stdin=subprocess.DEVNULL, timeout=SECONDS, check=True)
    with open(console, encoding="utf-8", errors="replace") as file:
        if "sent" not in file.read():
            sys.exit(f"bench: the guest did not come to its end: see {console}")
    with tarfile.open(results) as tar:
        tar.extractall(out)


def read(out, name):
    with open(os.path.join(out, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def oomsnoop_victims(text):
    told, stop = {}, {}
    for line in text.splitlines():
        record = json.loads(line)
        if record["type"] == "stop":
            stop = record
        for victim in record.get("victims", []) if record["type"] == "oom" else ():
            told[victim["pid"]] = told.get(victim["pid"], 0) + 1
    return told, stop


def pids_of(pattern, text):
    return {int(pid) for pid in re.findall(pattern, text)}


def real_victims(out, phase):
    text = read(out, "account." + phase)
    if phase != "workers":
        return set(Account(text).killed)
    # The parent stops counting when every worker has eaten or died, and ends the rest itself: one
    # that was killed just then is known from the kernel's log alone, which so few do not overflow.
    return (pids_of(r"event=ended pid_worker=(\d+) signal=9", text)
            | pids_of(r"Killed process (\d+)", read(out, "dmesg." + phase)))


def victims_table(out):
    told, stop = oomsnoop_victims(read(out, "oomsnoop.out"))
    by_tool = {"oomsnoop": set(told),
               "oomkill": pids_of(r"OOM kill of PID (\d+)", read(out, "oomkill.out")),
               "bpftrace": pids_of(r"KILL (\d+)", read(out, "bpftrace.out"))}
    counted = {fields[0]: fields[1:] for fields in map(str.split, read(out, "phases").splitlines())}
    rows, all_real = [], set()
    for phase, name in PHASES:
        real = real_victims(out, phase)
        all_real |= real
        log = read(out, "dmesg." + phase)
        rows.append([name, len(real)] + [len(by_tool[tool] & real) for tool in TOOLS]
                    + [len(pids_of(r"Killed process (\d+)", log) & real),
                       log.count("oom-kill:"), counted[phase][0]])
    table(["phase", "died"] + [NAMES[tool] for tool in TOOLS]
          + ["kernel log: named", "kernel log: full reports", "vmstat oom_kill"], rows)
    missed = all_real - set(told)
    print(f"oomsnoop: {len(all_real) - len(missed)} of {len(all_real)}; told more than once: "
          f"{sum(1 for pid in all_real if told.get(pid, 0) > 1)}; told and not killed: "
          f"{len(set(told) - all_real)}; its stop line: lost_events {stop.get('lost_events')}, "
          f"lost_candidates {stop.get('lost_candidates')}, evicted {stop.get('evicted')}.\n")
    complaint = read(out, "oomsnoop.out.stderr").strip()
    if complaint:
        print(f"It complained: {complaint}\n")


def starts_table(out):
    seen = {tool: [] for tool in TOOLS}
    for line in read(out, "starts").splitlines():
        name, *fields = line.split()
        seen[name].append([int(field) for field in fields[1:]] if fields else None)
    rows = []
    for tool in TOOLS:
        good = [run for run in seen[tool] if run]
        ratios = [run[0] / own[0] for run, own in zip(seen[tool], seen["oomsnoop"]) if run and own]
        if not good:
            rows.append([NAMES[tool], 0, "", "", ""])
            continue
        times = [run[0] / 1e6 for run in good]
        rows.append([NAMES[tool], len(good), f"{median(times):.0f} ms",
                     f"{min(times):.0f} to {max(times):.0f} ms", f"{median(ratios):.2f}"])
    table(["tool", "runs", "exec to attached, median", "least to most", "times oomsnoop's"], rows)


def memory_table(out):
    values = {}
    for line in read(out, "memory").splitlines():
        name, when, *pairs = line.split()
        values[name, when] = dict(zip(map(str.lower, pairs[::2]), map(int, pairs[1::2])))
    rows = []
    for tool in TOOLS:
        row = [NAMES[tool]]
        for when in ("attached", "after"):
            row += [f"{values[tool, when].get(field, 0) / 1024:.1f} MiB" for field in ("rss", "hwm")]
        rows.append(row)
    table(["tool", "VmRSS attached", "VmHWM attached", "VmRSS after", "VmHWM after"], rows)


class Guest:
    """Boots one, has it measure, and holds the folder of what it sent (out)."""

    def __init__(self, what):
        kernel = subprocess.run([os.path.join(TOP, "tools/fetch-kernel"), SERIES],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        keep = os.environ.get("OOMSNOOP_BENCH_OUT")
        self.scratch = tempfile.TemporaryDirectory(prefix="oomsnoop-bench-")
        self.out = keep or os.path.join(self.scratch.name, "out")
        os.makedirs(self.out, exist_ok=True)
        image = os.path.join(self.scratch.name, "initramfs")
        make_initramfs(os.path.join(self.scratch.name, "root"), image)
        progress(f"guest, {what}: takes some minutes; all is emulated")
        boot(kernel, image, self.out, what)

    def __enter__(self):
        return self.out

    def __exit__(self, *_):
        self.scratch.cleanup()


def peers():
    with Guest("peers") as out:
        section("Beside the tools in use", "tools/bench/run guest-peers",
                f"A guest with Debian's stock kernel ({read(out, 'release').strip()}), emulated, so "
                "its times are only good as ratios. All three tools are\nattached at once and see the "
                "same kills: oomsnoop, libbpf-tools' `oomkill`, and bpftrace with a script of one\n"
                "probe, both on oom_kill_process. `died` is what the victims' parents saw; a tool's "
                "figure is how many of those it\nnamed. The kernel log is read right after each phase. "
                "vmstat may count the first victim of a group twice.")
        victims_table(out)
        print(f"From execve() to attached, {STARTS} turns in the same boot: oomsnoop until READY (all "
              "hooks on, all names read), the\nothers until the kernel says that their program is on "
              "the probe.\n")
        starts_table(out)
        print("Memory of each, once attached and after all phases. oomsnoop's is locked and holds its "
              "tables of names.\n")
        memory_table(out)


# --- runs of BPF programs ---

RUNS = (("before", "--without recorder,charge,faults"), ("defaults", "defaults"),
        ("armed", "--faults always"), ("every", "--faults always --fault-period 1"))
STORMS = (("touch", "first touch"), ("cow", "copy on write"), ("fork", "fork, exit"),
          ("write", "64 KiB written to tmpfs"))


def program_runs(out, name):
    return {program["id"]: (program["name"], program.get("run_cnt", 0))
            for program in json.loads(read(out, name))}


def runs_row(out, name, kind):
    """Operations and page faults of the storm, runs of each program."""
    operations, _, _, faults = map(int, read(out, f"{name}.{kind}.storm").split())
    before = program_runs(out, f"{name}.{kind}.before")
    by_name = {}
    for number, (program, runs) in program_runs(out, f"{name}.{kind}.after").items():
        spent = runs - before.get(number, (program, 0))[1]
        # A pass runs by the clock, which is slow here, and not for an operation.
        if spent and not program.endswith("_iter"):
            by_name[program] = by_name.get(program, 0) + spent
    return operations, faults, by_name


def faults():
    with Guest("faults") as out:
        section("Runs of BPF programs", "tools/bench/run guest-faults",
                f"A guest with Debian's stock kernel ({read(out, 'release').strip()}), in a memory cgroup "
                "without a limit. How often the tracer's BPF programs\nrun is the kernel's own count "
                "(kernel.bpf_stats_enabled), which emulation does not change; times in the guest would "
                f"mean nothing.\n{FAULTS:,} page faults of each kind, {FAULTS // 100:,} forks and "
                f"{FAULTS // 16:,} writes. The program of a pass over all processes is left out: it runs by the clock.")
        rows = []
        for kind, title in STORMS:
            for name, options in RUNS:
                operations, faulted, by_name = runs_row(out, name, kind)
                most = sorted(by_name.items(), key=lambda one: -one[1])[:4]
                rows.append([title, options, f"{faulted / operations:.3f}",
                             f"{sum(by_name.values()) / operations * 1e6:,.0f}",
                             ", ".join(f"{program} {runs / operations * 1e6:,.0f}"
                                       for program, runs in most)])
        table(["operation", "oomsnoop", "page faults each", "runs in a million operations",
               "of those, by program"], rows)
