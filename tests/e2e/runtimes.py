# SPDX-License-Identifier: Apache-2.0
"""containerd, Docker and Podman for the tests: each in a directory of its own, with a socket of its
own, below a root that looks like a host's. Images are made here; nothing is pulled. All that was
started is ended by its pid, and all that was mounted or made is taken away, also after a
failure."""
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
WORKLOADS = TOP / 'build' / 'tests' / 'workloads'
CGROUPS = Path('/sys/fs/cgroup')
V1 = (CGROUPS / 'memory').is_dir()
MEMORY = CGROUPS / 'memory' if V1 else CGROUPS
# Nothing here waits this long unless it fails. A guest without hardware help is slow.
PATIENCE = float(os.environ.get('OOMSNOOP_PATIENCE', 60))
# Podman asks for more than some machines allow.
ULIMITS = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024']
SHELL = ('sh', 'sleep', 'cat', 'true')


def until(condition, what):
    """What condition() gives once that is something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f'{what}: not within {PATIENCE:.0f} s')
        time.sleep(0.05)
    return found


def call(*words, check=True, **more):
    """The standard output of a program that ends by itself, as text."""
    done = subprocess.run(
        [*map(str, words)],
        capture_output=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors='replace',
        check=False,
        **more,
    )
    if check and done.returncode:
        tail = done.stderr.strip()[-300:]
        raise AssertionError(f'{words[0]} {words[-1]}: status {done.returncode}: {tail}')
    return done.stdout.strip()


class Place:
    """A root like a host's, a root for containers, and cgroups below one of our own; with systemd,
    which makes them where it likes, the whole machine must be ours."""

    def __init__(self, systemd=False):
        self.systemd = systemd
        self.root = Path(tempfile.mkdtemp(prefix='oomsnoop-'))
        self.out = self.root / 'out'
        self.cgroup = f'/oomsnoop-containers-{os.getpid()}'
        self.rootfs = self.root / 'rootfs'
        self.bare = self.root / 'bare'
        for name in ('var/lib', 'run', 'out'):
            (self.root / name).mkdir(parents=True)
        for top in (self.rootfs, self.bare):
            for name in ('proc', 'sys', 'dev', 'tmp', 'out', 'host', 'bin'):
                (top / name).mkdir(parents=True)
        shutil.copy(shutil.which('busybox'), self.rootfs / 'bin' / 'busybox')
        for name in SHELL:
            (self.rootfs / 'bin' / name).symlink_to('busybox')
        for name in ('eat', 'forkeat'):
            shutil.copy(WORKLOADS / name, self.rootfs / 'bin')

    def add_tracer(self, binary):
        """A root with nothing in it but a static binary; and the image, where there is one (in a guest there is none)."""
        shutil.copy(binary, self.bare / 'oomsnoop')
        archive = Path(binary).parent / 'oomsnoop-image.tar'
        self.archive = archive if archive.exists() else None
        if self.archive:
            with tarfile.open(archive) as tar:
                self.image = json.load(tar.extractfile('manifest.json'))[0]['RepoTags'][0]

    @staticmethod
    def set_limit(path, limit):
        file = 'memory.limit_in_bytes' if V1 else 'memory.max'
        (MEMORY / path[1:] / file).write_text(str(limit))

    def our_pids(self):
        """Who names our directory in its arguments: shims and monitors that outlived a failure."""
        for entry in Path('/proc').iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                if os.fsencode(self.root) in (entry / 'cmdline').read_bytes():
                    yield int(entry.name)

    def cgroup_dirs(self):
        """All of ours, in all hierarchies, the lowest first."""
        tops = [CGROUPS / self.cgroup[1:], *CGROUPS.glob('*' + self.cgroup)]
        for top in tops:
            found = [Path(path) for path, _, _ in os.walk(top)]
            yield from sorted(found, key=lambda path: len(path.parts), reverse=True)

    def close(self):
        for pid in list(self.our_pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for directory in self.cgroup_dirs():
            with contextlib.suppress(OSError):
                for pid in (directory / 'cgroup.procs').read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
        unmount_below(self.root)
        for directory in self.cgroup_dirs():
            for _ in range(100):
                try:
                    directory.rmdir()
                    break
                except OSError:
                    time.sleep(0.05)
        shutil.rmtree(self.root)
        # containerd's shims have their sockets there, wherever its state is; only if nobody else's.
        for path in ('/run/containerd/s', '/run/containerd/fifo', '/run/containerd/runc/k8s.io'):
            with contextlib.suppress(OSError):
                os.rmdir(path)


def unmount_below(root):
    for line in reversed(Path('/proc/self/mountinfo').read_text().splitlines()):
        path = line.split()[4]
        if path.startswith(f'{root}/'):
            subprocess.run(['umount', path], check=False)


@dataclass
class Container:
    """As the runtime has it."""

    id: str
    name: str | None
    cgroup: str
    limit: int | None  # bytes
    runtime: str
    labels: dict = field(default_factory=dict)
    pod: dict = field(default_factory=dict)  # fields of the record
    node: str | None = None
    leaf: str = ''  # crun's own, below what systemd made: processes and limit are there

    @property
    def own(self):
        return self.cgroup + self.leaf


class Daemon:
    def __init__(self, place, name, words, ready):
        self.log = place.root / f'{name}.log'
        self.name = name
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(
                [*map(str, words)], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self.ready = ready

    def wait(self):
        def told():
            if self.process.poll() is not None:
                raise AssertionError(f'{self.name} ended: {self.tail()}')
            return self.ready in self.log.read_text(errors='replace')

        until(told, f'{self.name} does not say "{self.ready}": {self.tail()}')

    def tail(self):
        return self.log.read_text(errors='replace')[-400:]

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Runtime:
    """What all three can do. `started` are the containers to be taken away. Podman's monitor leaves
    a file where it was started: that is in our directory."""

    name = None  # as in the record
    daemon = None

    def __init__(self, place):
        self.place = place
        self.systemd = place.systemd
        self.label = self.name
        self.started = []

    def wait(self):
        if self.daemon:
            self.daemon.wait()

    def run(self, container, *words, **more):
        """In the foreground, until its first process is killed."""
        self.started.append(container)
        done = subprocess.run(
            self.words(container, words, **more),
            capture_output=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=self.place.root,
        )
        if done.returncode != 128 + signal.SIGKILL:
            tail = done.stderr[-300:].decode(errors='replace')
            raise AssertionError(f'{container.name or container.id}: {done.returncode}: {tail}')

    def start(self, container, *words, **more):
        """In the background."""
        self.started.append(container)
        call(*self.words(container, words, detach=True, **more), cwd=self.place.root)

    def follow(self, container, *words, **more):
        """In the foreground, while something else is done; the process of the runtime's client."""
        self.started.append(container)
        return subprocess.Popen(
            self.words(container, words, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd=self.place.root,
        )

    def close(self):
        for container in reversed(self.started):
            with contextlib.suppress(AssertionError, subprocess.SubprocessError):
                self.remove(container)
        if self.daemon:
            self.daemon.close()


def mount_words(mounts):
    for source, target, mode in mounts:
        yield from ('-v', f'{source}:{target}:{mode}')


CONTAINERD_TOML = '''version = 2
root = "{root}/var/lib/containerd"
state = "{root}/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.grpc.v1.cri",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{root}/run/containerd/containerd.sock"
'''
CRI = 'io.kubernetes.cri.'


class Containerd(Runtime):
    """With `ctr`: the annotations that the kubelet's side of containerd gives a pod's container are
    given by hand, and so is the cgroup's path."""

    name = 'containerd'

    def __init__(self, place):
        super().__init__(place)
        config = place.root / 'containerd.toml'
        config.write_text(CONTAINERD_TOML.format(root=place.root))
        self.state = place.root / 'run/containerd/io.containerd.runtime.v2.task/k8s.io'
        self.ctr = ['ctr', '-a', f'{place.root}/run/containerd/containerd.sock', '-n', 'k8s.io']
        self.daemon = Daemon(
            place, 'containerd', ['containerd', '-c', config], 'containerd successfully booted'
        )

    def container(self, path, limit=None, pod=None, node=None, container_name=None):
        """In a cgroup below `path`; `pod` has a name, namespace and uid."""
        name = container_name or (f'main-{secrets.token_hex(2)}' if pod else None)
        identity = secrets.token_hex(32)
        own = f'cri-containerd-{identity}.scope' if self.systemd else identity
        return Container(identity, name, f'{path}/{own}', limit, self.name, {}, pod or {}, node)

    def asked(self, container):
        """The cgroup as runc is asked for it."""
        if not self.systemd:
            return container.cgroup
        return f'{container.cgroup.split("/")[-2]}:cri-containerd:{container.id}'

    def annotations(self, container):
        pod = container.pod
        if not pod:
            return {}
        return {
            CRI + 'container-type': 'container',
            CRI + 'container-name': container.name,
            CRI + 'sandbox-id': secrets.token_hex(32),
            CRI + 'sandbox-name': pod['pod_name'],
            CRI + 'sandbox-namespace': pod['pod_namespace'],
            CRI + 'sandbox-uid': pod['pod_uid'],
        }

    def words(self, container, words, detach=False, remove=False, mounts=(), tracer=False):
        own = ['-d'] if detach else ['--rm'] if remove else []
        if container.limit:
            own += ['--memory-limit', str(container.limit)]
        for key, value in self.annotations(container).items():
            own += ['--annotation', f'{key}={value}']
        for source, target, mode in mounts:
            own += ['--mount', f'type=bind,src={source},dst={target},options=rbind:{mode}']
        if tracer:
            own += ['--privileged', '--with-ns', f'pid:/proc/{os.getpid()}/ns/pid']
        if self.systemd:
            own += ['--runc-systemd-cgroup']
        own += ['--cgroup', self.asked(container)]
        if tracer and self.place.archive:
            call(*self.ctr, 'images', 'import', '--snapshotter', 'native', self.place.archive)
            own += ['--snapshotter', 'native', self.place.image]
            words = ['oomsnoop', *words[1:]]
        else:
            own += ['--rootfs', self.place.bare if tracer else self.place.rootfs]
        return [*map(str, (*self.ctr, 'run', *own, container.id, *words))]

    def inspect(self, container):
        """As the runtime has it, out of its own account and the bundle that runc was given."""
        info = json.loads(call(*self.ctr, 'c', 'info', container.id))
        bundle = self.state / container.id / 'config.json'
        spec = json.loads(bundle.read_text()) if bundle.exists() else info['Spec']
        notes = spec.get('annotations') or {}
        limit = spec['linux']['resources'].get('memory', {}).get('limit')
        return {
            'id': info['ID'],
            'name': notes.get(CRI + 'container-name'),
            'limit': limit,
            'cgroup': container.cgroup
            if spec['linux']['cgroupsPath'] == self.asked(container)
            else None,
            'pod_name': notes.get(CRI + 'sandbox-name'),
            'pod_namespace': notes.get(CRI + 'sandbox-namespace'),
            'pod_uid': notes.get(CRI + 'sandbox-uid'),
        }

    def running(self, container):
        tasks = call(*self.ctr, 't', 'ls').splitlines()
        return any(line.split()[0] == container.id and 'RUNNING' in line for line in tasks)

    def stop(self, container, number):
        call(*self.ctr, 't', 'kill', '-s', number, container.id)

    def stop_within(self, container, seconds):
        """As who uses it does: `ctr' itself has no such command."""
        self.stop(container, 'TERM')
        time.sleep(seconds)
        self.stop(container, 'KILL')

    def remove(self, container):
        call(*self.ctr, 't', 'rm', '-f', container.id, check=False)
        call(*self.ctr, 'c', 'rm', container.id, check=False)


NAMELESS = ('PERFMON', 'BPF', 'CHECKPOINT_RESTORE')


def docker_rights():
    """Docker's "privileged" wants every capability that the kernel knows. Where this machine itself
    has fewer, the same without those (and without what Docker 20.10 has no name for: SYS_ADMIN
    stands for them)."""
    last = int(Path('/proc/sys/kernel/cap_last_cap').read_text())
    status = dict(
        line.split(':\t', 1) for line in Path('/proc/self/status').read_text().splitlines()
    )
    have = int(status['CapBnd'], 16)
    if have == (2 << last) - 1:
        return ['--privileged']
    names = call('capsh', f'--decode={have:x}').partition('=')[2].split(',')
    names = [name.removeprefix('cap_').upper() for name in names]
    words = [f'--cap-add={name}' for name in names if name not in NAMELESS]
    unconfined = ('seccomp=unconfined', 'apparmor=unconfined')
    return ['--cap-drop=ALL', *words, *(f'--security-opt={what}' for what in unconfined)]


class Docker(Runtime):
    name = 'docker'

    def __init__(self, place):
        super().__init__(place)
        self.parent = f'{place.cgroup}/docker'
        config = place.root / 'daemon.json'
        settings = {
            'iptables': False,
            'ip-forward': False,
            'bridge': 'none',
            'storage-driver': 'vfs',
            'data-root': f'{place.root}/var/lib/docker',
            'exec-root': f'{place.root}/run/docker',
            'pidfile': f'{place.root}/run/docker.pid',
            'hosts': [f'unix://{place.root}/run/docker.sock'],
            'cgroup-parent': self.parent,
        }
        if self.systemd:
            settings |= {'exec-opts': ['native.cgroupdriver=systemd']}
            del settings['cgroup-parent']
        config.write_text(json.dumps(settings))
        self.images = {'eaters': place.rootfs, 'tracer': place.bare}
        self.daemon = Daemon(
            place, 'dockerd', ['dockerd', '--config-file', config], 'API listen on'
        )

    def wait(self):
        super().wait()
        self.docker = self.client()
        for name, root in self.images.items():
            tar = self.place.root / f'{name}.tar'
            call('tar', '-C', root, '-cf', tar, '.')
            call(*self.docker, 'import', tar, f'oomsnoop/{name}')

    def client(self):
        """Of those that are installed, one that this daemon understands."""
        path = f'/usr/bin:{os.environ["PATH"]}'
        for directory in path.split(':'):
            words = [f'{directory}/docker', '-H', f'unix://{self.place.root}/run/docker.sock']
            if os.access(words[0], os.X_OK) and call(
                *words, 'version', '-f', '{{.Server.Version}}', check=False
            ):
                return words
        raise AssertionError('no docker client that the daemon understands')

    def container(self, name, limit=None, labels=None):
        return Container('', name, '', limit, self.name, labels or {})

    def words(self, container, words, detach=False, remove=False, mounts=(), tracer=False):
        own = ['--name', container.name, '--network', 'none']
        cidfile = self.place.root / f'{container.name}.id'
        own += ['--cidfile', cidfile, *mount_words(mounts)]
        own += ['-d'] if detach else ['--rm'] if remove else []
        if container.limit:
            own += ['-m', container.limit, '--memory-swap', container.limit]
        for key, value in container.labels.items():
            own += ['--label', f'{key}={value}']
        if tracer:
            own += ['--pid', 'host', *docker_rights()]
        image = 'oomsnoop/tracer' if tracer else 'oomsnoop/eaters'
        if tracer and self.place.archive:
            call(*self.docker, 'load', '-i', self.place.archive)
            image, words = self.place.image, words[1:]
        return [*map(str, (*self.docker, 'run', *own, image, *words))]

    def learn(self, container):
        container.id = (self.place.root / f'{container.name}.id').read_text()
        container.cgroup = self.path(self.parent, container.id)

    def path(self, parent, identity):
        if self.systemd:
            return f'/system.slice/docker-{identity}.scope'
        return f'{parent}/{identity}'

    def inspect(self, container):
        info = json.loads(call(*self.docker, 'inspect', container.name))[0]
        parent = info['HostConfig']['CgroupParent'] or self.parent
        return {
            'id': info['Id'],
            'name': info['Name'].lstrip('/'),
            'limit': info['HostConfig']['Memory'] or None,
            'cgroup': self.path(parent, info['Id']),
        }

    def running(self, container):
        return json.loads(call(*self.docker, 'inspect', container.name))[0]['State']['Running']

    def stop(self, container, number):
        call(*self.docker, 'kill', '-s', number, container.name)

    def stop_within(self, container, seconds):
        call(*self.docker, 'stop', '-t', seconds, container.name)

    def remove(self, container):
        call(*self.docker, 'rm', '-f', container.name, check=False)


class Podman(Runtime):
    name = 'podman'

    def __init__(self, place, oci='runc'):
        super().__init__(place)
        self.oci = oci
        self.label = f'podman-{oci}'
        self.parent = f'{place.cgroup}/libpod'
        self.podman = [
            'podman',
            *('--root', f'{place.root}/var/lib/containers/storage'),
            *('--runroot', f'{place.root}/run/containers/storage'),
            *('--tmpdir', f'{place.root}/run/libpod'),
            *('--storage-driver', 'vfs'),
            *('--events-backend', 'file'),
            *('--runtime', oci),
            *('--cgroup-manager', 'systemd' if self.systemd else 'cgroupfs'),
        ]

    def container(self, name, limit=None):
        return Container('', name, '', limit, self.name)

    def words(self, container, words, detach=False, remove=False, mounts=(), tracer=False):
        own = ['--name', container.name, '--network', 'host' if tracer else 'none', *ULIMITS]
        own += ['--cidfile', self.place.root / f'{container.name}.id', *mount_words(mounts)]
        own += ['-d'] if detach else ['--rm'] if remove else []
        if not self.systemd:
            own += ['--cgroup-parent', self.parent]
        if container.limit:
            own += ['-m', container.limit, '--memory-swap', container.limit]
        if tracer:
            own += ['--privileged', '--pid', 'host']
        if tracer and self.place.archive:
            call(*self.podman, 'load', '-i', self.place.archive)
            own, words = [*own, self.place.image], words[1:]
        else:
            own += ['--rootfs', self.place.bare if tracer else self.place.rootfs]
        return [*map(str, (*self.podman, 'run', *own, *words))]

    def learn(self, container):
        container.id = (self.place.root / f'{container.name}.id').read_text()
        if not self.systemd:
            container.cgroup = f'{self.parent}/libpod-{container.id}'
            return
        container.cgroup = f'/machine.slice/libpod-{container.id}.scope'
        container.leaf = '/container' if self.oci == 'crun' else ''

    def inspect(self, container):
        info = json.loads(call(*self.podman, 'inspect', container.name))[0]
        return {
            'id': info['Id'],
            'name': info['Name'],
            'limit': info['HostConfig']['Memory'] or None,
            'cgroup': info['State'].get('CgroupPath') or container.cgroup,
        }

    def running(self, container):
        return json.loads(call(*self.podman, 'inspect', container.name))[0]['State']['Running']

    def stop(self, container, number):
        call(*self.podman, 'kill', '-s', number, container.name)

    def stop_within(self, container, seconds):
        call(*self.podman, 'stop', '-t', seconds, container.name)

    def remove(self, container):
        call(*self.podman, 'rm', '-f', '-t', '0', container.name, check=False)
