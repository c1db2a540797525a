# SPDX-License-Identifier: Apache-2.0
"""What it costs two processes that send each other signals, when every signal of the machine is looked at.

As in storms.py each run with a tracer stands between two without one."""
import os
import subprocess

from lib import BENCH, QUICK, Tracer, progress, quartiles, section, table, wait_quiet

COUNT = int(os.environ.get("OOMSNOOP_BENCH_SIGNALS", "1000000"))
ROUNDS = int(os.environ.get("OOMSNOOP_BENCH_ROUNDS", "5" if QUICK else "11"))
SIGNALS = {"SIGUSR1": 10, "SIGTERM": 15}
VARIANTS = {"defaults": [], "--kills off": ["--kills", "off"]}


def once(number):
    """Signals a second, both processes on one CPU: no other's wakeup is measured with it."""
    done = subprocess.run(["taskset", "-c", "0", os.path.join(BENCH, "signals"), str(COUNT), str(number)],
                          capture_output=True, text=True, check=True)
    sent, nanoseconds = map(int, done.stdout.split())
    return sent / nanoseconds * 1e9


def storm():
    wait_quiet()
    rates = {}
    rows = []
    for name, number in SIGNALS.items():
        ratios = {variant: [] for variant in VARIANTS}
        alone = [once(number)]
        for round_number in range(ROUNDS):
            for variant, options in VARIANTS.items():
                tracer = Tracer(args=options)
                with_it = once(number)
                tracer.stop()
                alone.append(once(number))
                ratios[variant].append(with_it / ((alone[-2] + alone[-1]) / 2))
            progress(f"signals: {name}, round {round_number + 1} of {ROUNDS}")
        rates[name] = quartiles(alone)[1]
        for variant, values in ratios.items():
            low, middle, high = quartiles(values)
            rows.append((name, variant, f"{rates[name] / 1e3:.0f}", f"{middle:.3f}",
                         f"{low:.3f} to {high:.3f}", f"{min(values):.3f} to {max(values):.3f}"))
    section("A storm of signals", "tools/bench/run signals",
            f"{COUNT:,} signals between two processes that wait for each, on one CPU: signals a second with the tracer, over the "
            f"mean of the runs right before and after it without; {ROUNDS} pairs.")
    table(["signal", "tracer", "thousands a second without", "ratio", "quartiles", "all"], rows)
