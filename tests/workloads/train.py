#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py DATASET_MIB WORKERS [OWN_MIB]: what a training loop with data loaders does to memory.

The parent loads a data set (a list of small objects) and forks workers that read it, each in an order
of its own. Reading counts references, so that every page that is read becomes a private copy; no RSS
shows it. The parent then takes OWN_MIB for batches. A worker ends when its parent has gone, as those
of PyTorch do. Nothing is written but "event=" lines."""
import multiprocessing
import os
import random
import sys
import time

ITEM = 180  # bytes; with its header a little more than 200
BATCH = 1500
PACE = 0.03


def load(mib):
    return [bytes(ITEM) for _ in range((mib << 20) // (ITEM + 44))]


def work(number, dataset, parent):
    order = list(range(0, len(dataset) - BATCH, BATCH))
    random.Random(number).shuffle(order)
    while True:
        for start in order:
            for item in dataset[start : start + BATCH]:
                len(item)
            if os.getppid() != parent:
                return
            time.sleep(PACE)


def main():
    dataset_mib, workers = int(sys.argv[1]), int(sys.argv[2])
    own_mib = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    dataset = load(dataset_mib)
    print(f'pid={os.getpid()} event=loaded items={len(dataset)}', flush=True)
    context = multiprocessing.get_context('fork')
    processes = [
        context.Process(target=work, args=(number, dataset, os.getpid()), daemon=True)
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    batches = [b'x' * (1 << 20) for _ in range(own_mib)]
    print(f'pid={os.getpid()} event=forked workers={workers} own={len(batches)}', flush=True)
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit(f'worker {process.pid} ended with {process.exitcode}')


if __name__ == '__main__':
    main()
