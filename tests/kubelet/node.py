# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes node: containerd and a kubelet that takes its pods from a directory.

It runs in a mount namespace that is ours alone: the directories where a node keeps things are
mounted over, so that all paths are those of any node and none of this machine's files is touched."""
import http.client
import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

PATIENCE = 120
NAME = 'node1'
# What a node writes to; `run` makes those that are missing, and removes them again.
PLACES = ('/run', '/var/log', '/var/lib/containerd', '/var/lib/kubelet')
SYS_RESOURCE = 24
CONTAINERD = """version = 2
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:test"
  restrict_oom_score_adj = {restrict}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{directory}/cni"
"""


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f'{" ".join(map(str, words))}: {done.stderr.strip()}')
    return done.stdout


def wait_until(what, check):
    """What check() gives, once it is something: for what tells nobody when it happens."""
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f'never: {what}')
        time.sleep(0.1)
    return found


def may_lower_adj():
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith('CapEff:'):
            return bool(int(line.split()[1], 16) >> SYS_RESOURCE & 1)
    return False


def hierarchies():
    top = Path('/sys/fs/cgroup')
    if (top / 'cgroup.controllers').exists():
        return [top]
    return [
        one for one in top.iterdir() if not one.is_symlink() and (one / 'cgroup.procs').exists()
    ]


class Node:
    """with Node(NAME, DIR, KUBELET, OUT) as node: a kubelet that is well. Whoever called ends what
    is in the cgroup NAME and removes DIR, after this process and its mounts are gone."""

    def __init__(self, name, directory, kubelet, out):
        self.name, self.directory = name, Path(directory)
        self.kubelet, self.out = kubelet, Path(out)
        self.manifests = self.directory / 'manifests'
        self.processes = []

    def make_places(self):
        run('mount', '--make-rshared', '/')
        for number, place in enumerate(PLACES):
            own = self.directory / f'place{number}'
            own.mkdir()
            run('mount', '--bind', own, place)
        for own in (self.manifests, self.directory / 'volume-plugins', self.directory / 'cni'):
            own.mkdir()

    def make_cgroups(self):
        for top in hierarchies():
            own = top / self.name
            own.mkdir()
            (own / 'system').mkdir()
            if (top / 'cgroup.controllers').exists():
                self.delegate(top)
                self.delegate(own)

    @staticmethod
    def delegate(cgroup):
        for controller in (cgroup / 'cgroup.controllers').read_text().split():
            try:
                (cgroup / 'cgroup.subtree_control').write_text(f'+{controller}')
            except OSError:
                pass  # one that cannot be had is the kubelet's matter to tell

    def join(self):
        for top in hierarchies():
            procs = top / self.name / 'system' / 'cgroup.procs'
            try:
                procs.write_text(str(os.getpid()))
            except OSError:
                pass  # a cpuset without CPUs: the memory controller's is what counts

    def start(self, name, *words):
        with open(self.out / f'{name}.log', 'wb') as log:
            process = subprocess.Popen(
                words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=self.join
            )
        self.processes.append((name, process))
        return process

    def start_containerd(self):
        config = self.directory / 'containerd.toml'
        restrict = 'false' if may_lower_adj() else 'true'
        config.write_text(CONTAINERD.format(restrict=restrict, directory=self.directory))
        self.start('containerd', 'containerd', '--config', config)
        wait_until('containerd serves', self.serves)

    def serves(self):
        self.check_running()
        try:
            return self.ctr('version')
        except AssertionError:
            return None

    @staticmethod
    def ctr(*words):
        return run('ctr', '--namespace', 'k8s.io', *words)

    def start_kubelet(self):
        endpoint = 'unix:///run/containerd/containerd.sock'
        self.start(
            'kubelet',
            self.kubelet,
            '--container-runtime=remote',
            f'--container-runtime-endpoint={endpoint}',
            f'--image-service-endpoint={endpoint}',
            f'--pod-manifest-path={self.manifests}',
            f'--volume-plugin-dir={self.directory}/volume-plugins',
            f'--cgroup-root=/{self.name}',
            f'--hostname-override={NAME}',
            '--cgroup-driver=cgroupfs',
            '--cgroups-per-qos=true',
            '--enforce-node-allocatable=',
            '--eviction-hard=',
            '--fail-swap-on=false',
            '--make-iptables-util-chains=false',
            '--register-node=false',
            '--address=127.0.0.1',
            '--node-ip=127.0.0.1',
            '--read-only-port=10255',
            '--anonymous-auth=true',
            '--authentication-token-webhook=false',
            '--authorization-mode=AlwaysAllow',
            '--image-gc-high-threshold=100',
            '--v=3',
        )
        wait_until('the kubelet is well', self.healthy)

    def check_running(self):
        for name, process in self.processes:
            if process.poll() is not None:
                raise AssertionError(f'{name} ended with {process.returncode}: see its log')

    def healthy(self):
        self.check_running()
        try:
            return urllib.request.urlopen('http://127.0.0.1:10255/healthz', timeout=5).read()
        except (OSError, http.client.HTTPException):
            return None

    def __enter__(self):
        self.make_places()
        self.make_cgroups()
        run('ip', 'link', 'set', 'lo', 'up')
        self.start_containerd()
        return self

    def __exit__(self, *_):
        for _, process in reversed(self.processes):
            process.kill()
            process.wait()

    def version(self):
        return 'kubelet ' + run(self.kubelet, '--version').strip()

    # What a person asks a cluster for.

    def apply(self, pod):
        """Drop a manifest, as a whole: the kubelet must not read half of it."""
        name = pod['metadata']['name']
        new = self.directory / f'{name}.json'
        new.write_text(json.dumps(pod, indent=1))
        new.rename(self.manifests / f'{name}.json')

    def delete(self, pod):
        (self.manifests / f'{pod["metadata"]["name"]}.json').unlink()
        wait_until(f'{pod["metadata"]["name"]} is gone', lambda: not self.pod(pod))

    @staticmethod
    def pods():
        with urllib.request.urlopen('http://127.0.0.1:10255/pods', timeout=30) as answer:
            return json.load(answer)['items'] or []

    def pod(self, pod):
        """The kubelet's own account of a pod that was applied; None before and after."""
        for one in self.pods():
            if one['metadata']['name'] == f'{pod["metadata"]["name"]}-{NAME}':
                return one
        return None

    def status(self, pod, container):
        for one in (self.pod(pod) or {}).get('status', {}).get('containerStatuses', ()):
            if one['name'] == container:
                return one
        return {}

    def ready(self, pod):
        account = self.pod(pod)
        states = account and account['status'].get('containerStatuses', ())
        if states and len(states) == len(pod['spec']['containers']):
            return all(one['ready'] for one in states) and account
        return None

    @staticmethod
    def ask(method, path):
        """The kubelet's own port, where the API server gets what kubectl asks for."""
        request = urllib.request.Request(f'https://127.0.0.1:10250{path}', method=method)
        # Its certificate is its own, made at its start.
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                return answer.read().decode('utf-8', 'replace')
        except urllib.error.HTTPError as error:
            return error.read().decode('utf-8', 'replace')

    def container_id(self, pod, container):
        return self.status(pod, container)['containerID'].partition('://')[2]

    def given(self, pod, container):
        """What the runtime was told of the container's process."""
        tasks = Path('/run/containerd/io.containerd.runtime.v2.task/k8s.io')
        config = tasks / self.container_id(pod, container) / 'config.json'
        return json.loads(config.read_text())['process']

    def process(self, pod, container):
        """The container's process as the machine sees it: its /proc/PID/status, and its cgroup's peak
        of memory."""
        container_id = self.container_id(pod, container)
        for top in hierarchies():
            for cgroup in (top / self.name).glob(f'kubepods/**/{container_id}'):
                for peak in ('memory.peak', 'memory.max_usage_in_bytes'):
                    if (cgroup / peak).exists():
                        pid = (cgroup / 'cgroup.procs').read_text().split()[0]
                        lines = Path(f'/proc/{pid}/status').read_text().splitlines()
                        status = {k: v.split() for k, _, v in (one.partition(':') for one in lines)}
                        return status, int((cgroup / peak).read_text())
        raise AssertionError(f'no cgroup of {container_id}')

    @staticmethod
    def path_of(pod, container):
        metadata = pod['metadata']
        return f'{metadata.get("namespace", "default")}/{metadata["name"]}-{NAME}/{container}'

    def logs(self, pod, container):
        """kubectl logs"""
        return self.ask('GET', f'/containerLogs/{self.path_of(pod, container)}')

    def execute(self, pod, container, *words):
        """kubectl exec"""
        command = urllib.parse.urlencode([('cmd', ' '.join(words))])
        return self.ask('POST', f'/run/{self.path_of(pod, container)}?{command}')
