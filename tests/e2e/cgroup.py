# SPDX-License-Identifier: Apache-2.0
"""A memory cgroup of our own, and a process that eats more than it may."""
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
EAT = TOP / 'build' / 'tests' / 'workloads' / 'eat'
HOSTILE_COMM = r'a\x0ab\x1b[31m"\xff\\,)x'.replace('\\\\', '\\x5c')
V1 = Path('/sys/fs/cgroup/memory')
V2 = Path('/sys/fs/cgroup')


def own():
    """The folder of the cgroup that we are in: of the memory controller, on v1."""
    lines = Path('/proc/self/cgroup').read_text(encoding='utf-8').splitlines()
    paths = {name: path for _, name, path in (line.split(':', 2) for line in lines)}
    return V1 / paths['memory'].lstrip('/') if V1.is_dir() else V2 / paths[''].lstrip('/')


class Cgroup:
    """with Cgroup(NAME, MIB) as cgroup: gone afterwards, with whoever is still in it. NAME is bytes
    in latin-1."""

    def __init__(self, name, mib):
        top, limit = (V1, 'memory.limit_in_bytes') if V1.is_dir() else (V2, 'memory.max')
        self.name = f'oomsnoop-cli-{os.getpid()}-{name}'.encode('latin-1')
        self.path = os.fsencode(top) + b'/' + self.name
        self.limit = self.path + b'/' + limit.encode(), mib << 20
        # As the kernel and the records show it.
        self.shown = '/' + self.name.decode('utf-8', 'replace')

    def __enter__(self):
        os.mkdir(self.path)
        with open(self.limit[0], 'w', encoding='ascii') as file:
            file.write(str(self.limit[1]))
        return self

    def __exit__(self, *_):
        for _ in range(100):
            with open(self.path + b'/cgroup.procs', encoding='ascii') as procs:
                for pid in procs.read().split():
                    os.kill(int(pid), signal.SIGKILL)
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


def start(cgroup, mib, comm, arguments, fifo):
    # The workload understands \xNN; the octal escapes of others are none of its business.
    options = (
        [b'-C', cgroup.path]
        + ([b'-c', comm.encode('latin-1')] if comm else [])
        + ([b'-w', fifo] if fifo else [])
    )
    return subprocess.Popen(
        [os.fsencode(EAT), *options, b'anon', str(mib).encode(), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def finish(process):
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        raise AssertionError(f'the eater ended with {process.returncode}: nothing was killed')


def eat(cgroup, mib, comm=None, arguments=(), wait=False):
    """Run an eater until it is killed; its pid. With wait: (pid, let_go), and it eats when let_go()
    is called."""
    if not wait:
        process = start(cgroup, mib, comm, arguments, None)
        finish(process)
        return process.pid
    directory = tempfile.mkdtemp()
    fifo = os.path.join(directory, 'fifo')
    os.mkfifo(fifo)
    process = start(cgroup, mib, comm, arguments, os.fsencode(fifo))
    for line in process.stdout:
        if b'event=ready' in line:
            break

    def let_go():
        os.close(os.open(fifo, os.O_WRONLY))
        finish(process)
        os.unlink(fifo)
        os.rmdir(directory)

    return process.pid, let_go
