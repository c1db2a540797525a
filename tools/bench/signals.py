# SPDX-License-Identifier: Apache-2.0
"""What it costs two processes that send each other signals, when every signal of the machine is looked at.

As in storms.py each run with a tracer stands between two without one."""
import os
import subprocess

from lib import (BENCH, QUICK, BpfStats, Tracer, median, progress, quartiles, program_name, section,
                 table, wait_quiet)

COUNT = int(os.environ.get("OOMSNOOP_BENCH_SIGNALS", "1000000"))
ROUNDS = int(os.environ.get("OOMSNOOP_BENCH_ROUNDS", "5" if QUICK else "11"))
SIGNALS = {"SIGUSR1": 10, "SIGTERM": 15}
# The second one has no program on signals at all: what is left of it is the noise, and the rest of the tracer.
VARIANTS = {"defaults": [], "--without shared-mm,signal": ["--without", "shared-mm,signal"]}


def once(number):
    """Nanoseconds a signal, by the clock and of CPU time. Both on one CPU: no other's wakeup is measured with it."""
    done = subprocess.run(["taskset", "-c", "0", os.path.join(BENCH, "signals"), str(COUNT), str(number)],
                          capture_output=True, text=True, check=True)
    sent, clock, cpu = map(int, done.stdout.split())
    return clock / sent, cpu / sent


def throughput(before, with_it, after, which):
    """With the tracer, over without: of signals in a time."""
    return (before[which] + after[which]) / 2 / with_it[which]


def own_time(number):
    """Nanoseconds that the program takes for each signal, by the kernel's account, two readings of the clock included."""
    tracer = Tracer(args=[])
    with BpfStats():
        before = BpfStats.runs(tracer.process.pid)
        once(number)
        after = BpfStats.runs(tracer.process.pid)
    names = {program: program_name(program) for program in after}
    tracer.stop()
    for program, (runs, nanoseconds) in BpfStats.since(before, after).items():
        if names[program].startswith("signal_") and runs >= COUNT:
            return nanoseconds / runs
    raise SystemExit("bench: the program on signals did not run")


def cells(values):
    low, middle, high = quartiles(values)
    return f"{middle:.3f}", f"{low:.3f} to {high:.3f}"


def storm():
    wait_quiet()
    rows, own = [], []
    for name, number in SIGNALS.items():
        ratios = {variant: ([], []) for variant in VARIANTS}
        alone = [once(number)]
        for round_number in range(ROUNDS):
            for variant, options in VARIANTS.items():
                tracer = Tracer(args=options)
                with_it = once(number)
                tracer.stop()
                alone.append(once(number))
                for which in (0, 1):
                    ratios[variant][which].append(throughput(alone[-2], with_it, alone[-1], which))
            progress(f"signals: {name}, round {round_number + 1} of {ROUNDS}")
        own.append(f"{name} {own_time(number):.0f} ns")
        for variant, (clock, cpu) in ratios.items():
            rows.append((name, variant, f"{median([run[1] for run in alone]) / 1e3:.2f}", *cells(cpu), *cells(clock)))
    section("A storm of signals", "tools/bench/run signals",
            f"{COUNT:,} signals between two processes that wait for each, on one CPU: throughput with the tracer over without, "
            f"by the CPU time of both and by the clock; {ROUNDS} pairs, each with the mean of the runs right before and after it. "
            f"The program itself takes, by the kernel's account: {', '.join(own)}.")
    table(["signal", "tracer", "µs of CPU each, without", "by CPU time", "quartiles", "by the clock", "quartiles"], rows)
