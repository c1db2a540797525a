# SPDX-License-Identifier: Apache-2.0
"""A container of the manifests, run by runc from the image's own archive, as a kubelet would have it
run: user, capabilities, mounts, read-only root, limit. No device of the host, no network."""
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
IMAGE = TOP / 'build' / 'oomsnoop-image.tar'
# What containerd gives to every container.
DEVICES = [(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0)]
SUFFIXES = {'Ki': 10, 'Mi': 20, 'Gi': 30}
XATTR = 'SCHILY.xattr.'
# Under load a start takes long; nothing waits this long unless it fails.
PATIENCE = 30


def quantity(text):
    shift = SUFFIXES.get(text[-2:])
    return int(text[:-2]) << shift if shift else int(text)


def read_image(path=IMAGE):
    """(configuration, layer as an open tar) by the index alone: digests are checked on the way."""
    with tarfile.open(path) as archive:

        def blob(descriptor):
            algorithm, _, value = descriptor['digest'].partition(':')
            data = archive.extractfile(f'blobs/{algorithm}/{value}').read()
            said = subprocess.run(['sha256sum'], input=data, capture_output=True, check=True)
            if said.stdout.split()[0].decode() != value or len(data) != descriptor['size']:
                raise ValueError(f'{descriptor} is not what it says')
            return data

        index = json.loads(archive.extractfile('index.json').read())
        manifest = json.loads(blob(index['manifests'][0]))
        return json.loads(blob(manifest['config'])), blob(manifest['layers'][0])


def unpack(layer, folder):
    """The layer on disk, with the extended attributes of its files."""
    packed = folder / 'layer.tar.gz'
    packed.write_bytes(layer)
    root = folder / 'rootfs'
    root.mkdir()
    with tarfile.open(packed) as tar:
        tar.extractall(root)
        for info in tar:
            for key, value in info.pax_headers.items():
                if key.startswith(XATTR):
                    os.setxattr(
                        root / info.name,
                        key.removeprefix(XATTR),
                        value.encode('utf-8', 'surrogateescape'),
                    )
    return root


def capability_names(security):
    wanted = security.get('capabilities', {}).get('add', [])
    return [f'CAP_{name}' for name in wanted]


def own_capabilities():
    """All that this machine lets a container have."""
    with open('/proc/self/status', encoding='ascii') as status:
        bits = int(next(line for line in status if line.startswith('CapBnd')).split()[1], 16)
    said = subprocess.run(
        ['capsh', f'--decode={bits:x}'], capture_output=True, text=True, check=True
    ).stdout
    return [name.upper() for name in said.strip().partition('=')[2].split(',')]


def allowed(security):
    """A privileged one has all, another what is added. What this machine itself has not got (it may
    be a container) cannot be given."""
    have = own_capabilities()
    names = have if security.get('privileged') else capability_names(security)
    return [name for name in names if name in have]


class Container:
    """with Container(NAME, SPEC, CONTAINER) as tracer: runs until the end of the block.

    SPEC and CONTAINER are as in a resolved manifest. `extra` arguments are put behind its own; `fields` are
    what the kubelet would know by then ('metadata.uid'), for the arguments that name them. Host
    paths that are not on this machine are empty folders, as DirectoryOrCreate makes them."""

    def __init__(self, name, spec, container, extra=(), fields=None):
        self.name = f'oomsnoop-rights-{os.getpid()}-{name}'
        self.spec, self.container, self.extra = spec, container, list(extra)
        self.folder = Path(tempfile.mkdtemp(prefix='oomsnoop-bundle-'))
        self.fields = fields or {}
        self.process = None

    # --- the runtime's configuration ---

    def mounts(self):
        paths = {volume['name']: volume['hostPath']['path'] for volume in self.spec['volumes']}
        for mount in self.container.get('volumeMounts', []):
            source = paths[mount['name']]
            if not os.path.exists(source):
                source = str(self.folder / 'empty' / mount['name'])
                os.makedirs(source)
            yield {
                'destination': mount['mountPath'],
                'type': 'bind',
                'source': source,
                'options': ['rbind', 'ro' if mount.get('readOnly') else 'rw', 'rslave'],
            }

    def arguments(self):
        """With $(NAME) put in, as the kubelet does it."""
        known = {
            f'$({one["name"]})': self.fields[one['valueFrom']['fieldRef']['fieldPath']]
            for one in self.container.get('env', [])
        }
        for argument in self.container['args']:
            for name, value in known.items():
                argument = argument.replace(name, value)
            yield argument

    def configuration(self, image):
        subprocess.run(['runc', 'spec'], cwd=self.folder, check=True)
        path = self.folder / 'config.json'
        config = json.loads(path.read_text(encoding='utf-8'))
        security = self.container['securityContext']
        names = allowed(security)
        process = config['process']
        process['terminal'] = False
        process['args'] = [*image['Entrypoint'], *self.arguments(), *self.extra]
        process['env'] = image['Env']
        process['user'] = {'uid': security['runAsUser'], 'gid': security.get('runAsGroup', 0)}
        process['capabilities'] = {kind: names for kind in ('bounding', 'effective', 'permitted')}
        process['noNewPrivileges'] = security.get('allowPrivilegeEscalation') is False
        process.pop('rlimits', None)
        config['root'] = {
            'path': str(self.folder / 'rootfs'),
            'readonly': security['readOnlyRootFilesystem'],
        }
        config['mounts'] += self.mounts()
        linux = config['linux']
        shared = {'pid'} if self.spec.get('hostPID') else set()
        linux['namespaces'] = [one for one in linux['namespaces'] if one['type'] not in shared]
        linux['cgroupsPath'] = '/' + self.name
        limit = quantity(self.container['resources']['limits']['memory'])
        rules = [{'allow': False, 'access': 'rwm'}]
        rules += [
            {'allow': True, 'type': 'c', 'major': a, 'minor': b, 'access': 'rwm'}
            for a, b in DEVICES
        ]
        linux['resources'] = {'memory': {'limit': limit}, 'devices': rules}
        path.write_text(json.dumps(config), encoding='utf-8')

    # --- its life ---

    def __enter__(self):
        config, layer = read_image()
        unpack(layer, self.folder)
        self.configuration(config['config'])
        with open(self.folder / 'stdout', 'wb') as out, open(self.folder / 'stderr', 'wb') as err:
            self.process = subprocess.Popen(
                ['runc', 'run', '--bundle', self.folder, self.name],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        return self

    def probe(self, command):
        """As an exec probe asks: (status, output)."""
        done = subprocess.run(
            ['runc', 'exec', self.name, *command], capture_output=True, timeout=PATIENCE, check=False
        )
        return done.returncode, done.stdout

    def wait_ready(self):
        command = self.container['readinessProbe']['exec']['command']
        deadline = time.monotonic() + PATIENCE
        while self.probe(command)[0]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f'never ready: {self.stderr()!r}')
            time.sleep(0.1)

    def stdout(self):
        return (self.folder / 'stdout').read_bytes()

    def stderr(self):
        return (self.folder / 'stderr').read_bytes().decode()

    def wait(self):
        return self.process.wait(PATIENCE)

    def end(self):
        if self.process.poll() is None:
            subprocess.run(['runc', 'kill', self.name, 'TERM'], capture_output=True, check=False)
        return self.wait()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            subprocess.run(['runc', 'kill', self.name, 'KILL'], capture_output=True, check=False)
            self.process.wait(PATIENCE)
        subprocess.run(['runc', 'delete', '--force', self.name], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
