# SPDX-License-Identifier: Apache-2.0
"""A container without any right, as a notebook's: uid 1000, no capability, no new privileges, a pid
namespace of its own, the cgroup file system read-only. Made by runc out of a bundle of ours."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from scenarios import read_account

TOP = Path(__file__).resolve().parents[2]
WORKLOADS = TOP / 'build' / 'tests' / 'workloads'
V1 = Path('/sys/fs/cgroup/memory')
PATIENCE = 30
UID = 1000

# What runs in it: the watcher, and once it is ready the workloads. $WATCHER is its pid.
SCRIPT = '''
/bin/oomsnoop {options} --ready-fd 3 3>/out/ready >/out/records 2>/out/stderr &
WATCHER=$!
until grep -q READY /out/ready || ! kill -0 $WATCHER 2>/dev/null; do usleep 20000; done
{script}
{end}
wait $WATCHER
echo $? >/out/status
'''
TERM = 'kill -TERM $WATCHER'


class Bundle:
    """with Bundle(...) as box: box.run(SCRIPT); what it wrote is in box.out. above: the limit is that of the cgroup
    around the container's, as a pod's is, which has none."""

    def __init__(self, binary, mib=48, cgroup_namespace=False, above=False):
        self.binary, self.mib, self.above = binary, mib, above
        self.namespaces = ['pid', 'ipc', 'uts', 'mount'] + ['cgroup'] * cgroup_namespace
        self.top = Path(tempfile.mkdtemp())
        self.name = f'oomsnoop-self-{os.getpid()}-{self.top.name}'
        self.cgroup = f'/{self.name}/{self.top.name}'
        self.out = self.top / 'out'

    def config(self, script):
        mount = lambda to, kind, *options: {
            'destination': to,
            'type': kind,
            'source': kind,
            'options': ['nosuid', *options],
        }
        nothing = {
            name: [] for name in ('bounding', 'effective', 'inheritable', 'permitted', 'ambient')
        }
        return {
            'ociVersion': '1.0.2',
            'hostname': 'notebook',
            'root': {'path': 'rootfs', 'readonly': True},
            'process': {
                'terminal': False,
                'user': {'uid': UID, 'gid': UID},
                'args': ['/bin/sh', '-c', script],
                'env': ['PATH=/bin'],
                'cwd': '/',
                'capabilities': nothing,
                'noNewPrivileges': True,
            },
            'mounts': [
                mount('/proc', 'proc', 'noexec', 'nodev'),
                mount('/dev', 'tmpfs', 'mode=755', 'size=65536k'),
                mount('/tmp', 'tmpfs', 'mode=1777'),
                mount('/sys', 'sysfs', 'noexec', 'nodev', 'ro'),
                mount('/sys/fs/cgroup', 'cgroup', 'noexec', 'nodev', 'ro'),
                {
                    'destination': '/out',
                    'type': 'bind',
                    'source': str(self.out),
                    'options': ['rbind', 'rw'],
                },
            ],
            'linux': {
                'cgroupsPath': self.cgroup,
                'resources': {
                    'devices': [{'allow': True, 'access': 'rwm'}],
                    'memory': {} if self.above else {'limit': self.mib << 20},
                },
                'namespaces': [{'type': name} for name in self.namespaces],
            },
        }

    def __enter__(self):
        root = self.top / 'rootfs'
        for folder in ('bin', 'proc', 'sys', 'dev', 'tmp', 'out'):
            (root / folder).mkdir(parents=True)
        self.out.mkdir()
        os.chown(self.out, UID, UID)
        shutil.copy(shutil.which('busybox'), root / 'bin' / 'busybox')
        for name in ('sh', 'cat', 'grep', 'kill', 'mkdir', 'mkfifo', 'sleep', 'usleep'):
            os.symlink('busybox', root / 'bin' / name)
        for program in ('eat', 'grow', 'herd'):
            shutil.copy(WORKLOADS / program, root / 'bin' / program)
        shutil.copy(self.binary, root / 'bin' / 'oomsnoop')
        self.top.chmod(0o755)
        if self.above:
            (V1 / self.name).mkdir()
            (V1 / self.name / 'memory.limit_in_bytes').write_text(str(self.mib << 20))
        return self

    def run(self, script):
        """Until it has ended; its status and what it said."""
        (self.top / 'config.json').write_text(json.dumps(self.config(script)))
        done = subprocess.run(
            ['runc', '--root', self.top / 'state', 'run', '--bundle', self.top, self.top.name],
            capture_output=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def watched(self, script, options='--json', end=TERM):
        """The watcher beside the workloads of the script; its exit status."""
        said = self.run(SCRIPT.format(options=options, script=script, end=end))
        try:
            return int((self.out / 'status').read_text())
        except (OSError, ValueError):
            raise AssertionError(f'no status: runc said {said}, {self.read("stderr")}') from None

    def read(self, name):
        path = self.out / name
        return path.read_text(errors='replace') if path.exists() else ''

    def account(self, name):
        return read_account(self.read(name))

    def lines(self):
        return [json.loads(line) for line in self.read('records').splitlines()]

    def __exit__(self, *_):
        kill = ['runc', '--root', self.top / 'state', 'delete', '--force', self.top.name]
        subprocess.run(kill, capture_output=True, timeout=PATIENCE, check=False)
        shutil.rmtree(self.top, ignore_errors=True)
        if V1.is_dir():
            sweep(self.name)


def sweep(name):
    """runc removes the container's own cgroups; the one around them is ours to remove."""
    for hierarchy in V1.parent.iterdir():
        folder = hierarchy / name
        for _ in range(50):
            if not folder.is_dir():
                break
            for procs in folder.rglob('cgroup.procs'):
                for pid in procs.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            try:
                for below in sorted(folder.rglob('*/'), reverse=True):
                    if below.is_dir():
                        below.rmdir()
                folder.rmdir()
            except OSError:
                time.sleep(0.05)
