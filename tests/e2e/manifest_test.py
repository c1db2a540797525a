#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""manifest_test.py [-q] [BINARY]: the image and the manifests of packaging/: fields and types against
the API's own models (python3-kubernetes, which is generated from its OpenAPI), arguments against
the binary, mounts and rights against its doctor, resources against its need. Needs root, runc and
the image (make image); Debian's python3, for its modules. Prints "ok NAME" and "FAIL NAME: why"
lines and a last line of sums."""
import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import kubernetes.client.models as models
import yaml

import manifests
from bundle import IMAGE, Container, quantity, read_image
from results import Results

TOP = Path(__file__).resolve().parents[2]
MIB = 1 << 20
IMAGE_MAX = 10 * MIB
KINDS = {
    ('v1', 'Namespace'): models.V1Namespace,
    ('v1', 'ServiceAccount'): models.V1ServiceAccount,
    ('v1', 'Pod'): models.V1Pod,
    ('apps/v1', 'DaemonSet'): models.V1DaemonSet,
}
# What the models call a string and the API takes a few words of.
WORDS = {
    'imagePullPolicy': {'Always', 'IfNotPresent', 'Never'},
    'mountPropagation': {'None', 'HostToContainer', 'Bidirectional'},
    'updateStrategy.type': {'RollingUpdate', 'OnDelete'},
    'seccompProfile.type': {'RuntimeDefault', 'Unconfined', 'Localhost'},
    'hostPath.type': {'', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'CharDevice'},
    'tolerations.operator': {'Exists', 'Equal'},
}
SIMPLE = {'str': str, 'int': int, 'bool': bool}
COMPOSE_SERVICE = {
    'image': str,
    'command': list,
    'pid': str,
    'read_only': bool,
    'restart': str,
    'cap_drop': list,
    'cap_add': list,
    'devices': list,
    'security_opt': list,
    'oom_score_adj': int,
    'mem_limit': str,
    'healthcheck': dict,
    'volumes': list,
}


# --- fields and types ---


def simple_errors(value, kind, path):
    name = kind.partition('(')[0]
    if name == 'object':  # a number or a text: IntOrString, and nothing else is used here
        if not isinstance(value, (int, str)) or isinstance(value, bool):
            yield f'{path} is {value!r}'
        return
    if not isinstance(value, SIMPLE[name]) or (name == 'int' and isinstance(value, bool)):
        yield f'{path} is {value!r}, and {name} is wanted'
    words = next((WORDS[key] for key in WORDS if ('.' + path).endswith('.' + key)), None)
    if words and value not in words:
        yield f'{path} is {value!r}, none of {sorted(words)}'


def typed_errors(value, kind, path):
    if kind.startswith('list['):
        if not isinstance(value, list):
            yield f'{path} is no list'
            return
        for element in value:
            yield from typed_errors(element, kind[5:-1], path)
    elif kind.startswith('dict('):
        if not isinstance(value, dict):
            yield f'{path} is no mapping'
            return
        of = kind[5:-1].split(', ')[1]
        for key, element in value.items():
            yield from typed_errors(element, of, f'{path}.{key}')
    elif kind.startswith('V1'):
        yield from model_errors(value, getattr(models, kind), path)
    else:
        yield from simple_errors(value, kind, path)


def model_errors(value, model, path=''):
    """Fields that the API does not know, or knows as another type, or wants and has not got."""
    if not isinstance(value, dict):
        yield f'{path} is no mapping'
        return
    names = {shown: own for own, shown in model.attribute_map.items()}
    given = {}
    for key, element in value.items():
        below = f'{path}.{key}' if path else key
        if key not in names:
            yield f'{below}: the API has no such field in {model.__name__}'
            continue
        given[names[key]] = element
        yield from typed_errors(element, model.openapi_types[names[key]], below)
    try:
        model(**given)  # refuses what lacks a required field
    except ValueError as error:
        yield f'{path}: {error}'


def object_errors(one):
    model = KINDS.get((one.get('apiVersion'), one.get('kind')))
    if not model:
        return [f'{one.get("apiVersion")} {one.get("kind")} is not known here']
    return [f'{one["kind"]} {error}' for error in model_errors(one, model)]


# --- what a manifest must say ---


def accepted_errors(binary, arguments):
    # Here the host's root is not where a container has it.
    here = [word.replace('=/host', '=/') for word in arguments]
    done = subprocess.run([binary, *here, '--help'], capture_output=True, check=False, timeout=30)
    if done.returncode:
        yield f'the binary refuses {arguments}: {done.stderr.decode()!r}'


@functools.cache
def doctor_of(binary):
    return json.loads(subprocess.run([binary, 'doctor', '--json'], capture_output=True).stdout)


@functools.cache
def version_of(binary):
    said = subprocess.run([binary, '--version'], capture_output=True, text=True, check=True)
    return said.stdout.split()[1]


def mount_errors(spec, container):
    volumes = {one['name']: one for one in spec.get('volumes', [])}
    mounted = {one['name'] for one in container.get('volumeMounts', [])}
    if set(volumes) != mounted:
        yield f'volumes {sorted(volumes)}, mounted {sorted(mounted)}'
    for mount in container.get('volumeMounts', []):
        host = volumes[mount['name']]['hostPath']['path']
        if mount['mountPath'] != '/host' + host:
            yield f'{host} is mounted at {mount["mountPath"]}'
        if mount.get('readOnly') is not True:
            yield f'{mount["mountPath"]} may be written to'
        if re.search(r'\.sock$|^/run/?$|^/run/containerd/?$|^/var/run/?$', host):
            yield f"{host} has the runtime's socket in it"


def rights_errors(folder, container):
    security = container['securityContext']
    privileged = folder.name == 'privileged'
    if security.get('privileged') is not privileged:
        yield f'privileged is {security.get("privileged")}'
    if security.get('readOnlyRootFilesystem') is not True:
        yield 'the root may be written to'
    if privileged:
        return
    if security.get('allowPrivilegeEscalation') is not False:
        yield 'it may gain rights'
    capabilities = security['capabilities']
    if capabilities['drop'] != ['ALL'] or not {'BPF', 'PERFMON'} <= set(capabilities['add']):
        yield f'capabilities: {capabilities}'
    if folder.name == 'least-rights':
        if set(capabilities['add']) != {'BPF', 'PERFMON'} or not security['runAsUser']:
            yield f'more than the least rights: {security}'


def resource_errors(binary, container):
    """The limit holds the tables, full, with a probe beside them."""
    resources = container['resources']
    limit = quantity(resources['limits']['memory'])
    asked = [word for word in container['args'] if word.startswith('--memory=')]
    doctor = doctor_of(binary)
    full = doctor['own']['full_bytes']
    if asked:
        full = quantity(asked[0].partition('=')[2].replace('iB', 'i'))
    if limit < full + 8 * MIB:
        yield f'a limit of {limit} for tables of {full}'
    if quantity(resources['requests']['memory']) < doctor['own']['start_bytes']:
        yield 'the request is less than what a start takes'
    if 'cpu' in resources['limits']:
        yield 'a limit on CPU'


@functools.cache
def knows_host_root(binary):
    said = subprocess.run([binary, '--help'], capture_output=True, check=True).stdout
    return b'--host-root' in said


def host_root_errors(binary, arguments):
    """What is mounted below /host is of no use to a tracer that does not look there."""
    if knows_host_root(binary) and '--host-root=/host' not in arguments:
        yield f'no --host-root=/host in {arguments}'


def pod_errors(binary, folder, objects):
    spec, container = manifests.tracer(objects)
    yield from host_root_errors(binary, container['args'])
    yield from accepted_errors(binary, container['args'])
    yield from mount_errors(spec, container)
    yield from rights_errors(folder, container)
    yield from resource_errors(binary, container)
    if container['image'] != f'localhost/oomsnoop:{version_of(binary)}':
        yield f'the image is {container["image"]}'
    if spec.get('automountServiceAccountToken') is not False:
        yield 'a token of the service account is mounted'
    for name in ('readinessProbe', 'livenessProbe'):
        command = container.get(name, {}).get('exec', {}).get('command')
        if command not in (None, ['oomsnoop', 'probe']):
            yield f'{name} runs {command}'
    if '--probe' not in container['args'] or '--json' not in container['args']:
        yield f'arguments: {container["args"]}'


def daemonset_errors(objects):
    for one in objects:
        if one['kind'] != 'DaemonSet':
            continue
        labels = one['spec']['template']['metadata']['labels']
        if not one['spec']['selector']['matchLabels'].items() <= labels.items():
            yield 'the selector does not match the labels'
        spec = one['spec']['template']['spec']
        if not spec.get('hostPID') or spec.get('hostNetwork') or spec.get('hostIPC'):
            yield "of the host's namespaces it wants that of the pids, and no other"
        if spec.get('priorityClassName') != 'system-node-critical':
            yield f'priority class {spec.get("priorityClassName")}'


@functools.cache
def kubectl_that_can():
    """None: there is none, or one from before 1.21, whose kustomize does not know this form (Debian
    12 packages such a one)."""
    kubectl = shutil.which('kubectl')
    if not kubectl:
        return None
    said = subprocess.run(
        [kubectl, 'version', '--client', '-o', 'json'], capture_output=True, check=True
    ).stdout
    minor = re.match(r'\d+', json.loads(said)['clientVersion']['minor'])[0]
    return kubectl if int(minor) >= 21 else None


def kubectl_errors(folder, objects):
    """kubectl's own kustomize says the same, where there is one."""
    kubectl = kubectl_that_can()
    if not kubectl:
        return
    done = subprocess.run([kubectl, 'kustomize', folder], capture_output=True, check=False)
    if done.returncode:
        yield f'kubectl kustomize: {done.stderr.decode()!r}'
        return
    theirs = {manifests.identity(one): one for one in yaml.safe_load_all(done.stdout)}
    ours = {manifests.identity(one): one for one in objects}
    if theirs != ours:
        yield f'kubectl resolves it otherwise: {theirs} and {ours}'


# --- tests ---


def test_kustomizations(binary):
    folders = manifests.folders()
    if {folder.name for folder in folders} != {'base', 'least-rights', 'privileged', 'sidecar'}:
        yield f'folders: {folders}'
    for folder in folders:
        objects = manifests.resolve(folder)
        for error in [
            *(error for one in objects for error in object_errors(one)),
            *pod_errors(binary, folder, objects),
            *daemonset_errors(objects),
            *kubectl_errors(folder, objects),
        ]:
            yield f'{folder.name}: {error}'


def test_mistakes_are_found(_):
    """The check itself: each of these is refused by an API server, too."""
    objects = manifests.resolve(manifests.KUBERNETES / 'base')

    def broken(change):
        one = json.loads(json.dumps(next(o for o in objects if o['kind'] == 'DaemonSet')))
        change(one['spec']['template']['spec'], one['spec']['template']['spec']['containers'][0])
        return object_errors(one)

    mistakes = {
        'unknown field': lambda spec, container: spec.update(hostPid=True),
        'text for a number': lambda _, container: container['livenessProbe'].update(periodSeconds='60'),
        'text for a flag': lambda _, container: container['volumeMounts'][0].update(readOnly='yes'),
        'number for a text': lambda _, container: container['args'].append(5),
        'no name': lambda _, container: container.pop('name'),
        'no list': lambda _, container: container.update(args='--json'),
        'unknown word': lambda _, container: container.update(imagePullPolicy='Sometimes'),
    }
    for name, change in mistakes.items():
        if not broken(change):
            yield f'{name} is not found'


def test_refused_arguments_are_found(binary):
    if not list(accepted_errors(binary, ['--json', '--no-such-option'])):
        yield 'an unknown option is accepted'


def doctor_errors(folder):
    spec, container = manifests.tracer(manifests.resolve(manifests.KUBERNETES / folder))
    container = {**container, 'args': ['doctor', '--json']}
    with Container('doctor', spec, container) as doctor:
        status = doctor.wait()
        said = json.loads(doctor.stdout())
    if status:
        yield f'doctor ends with {status}: {said.get("obstacle_text")}'
    if 'missing' in said['rights']:
        yield f'missing: {said["rights"]["missing"]}'
    if not said['kernel']['initial_pid_namespace']:
        yield "not the host's pid namespace"
    if not said['own']['fits'] or said['memory'].get('allowed_bytes') is None:
        yield f'own memory: {said["own"]}'


def test_doctor_in_the_daemonset(_):
    for folder in ('base', 'overlays/least-rights'):
        yield from (f'{folder}: {error}' for error in doctor_errors(folder))


def test_compose(binary):
    (compose,) = manifests.load(manifests.PACKAGING / 'compose' / 'compose.yaml')
    if set(compose) != {'services'}:
        yield f'keys: {sorted(compose)}'
    service = compose['services']['oomsnoop']
    for key, value in service.items():
        if not isinstance(value, COMPOSE_SERVICE.get(key, ())):
            yield f'{key}: {value!r}'
    yield from accepted_errors(binary, service['command'])
    yield from host_root_errors(binary, service['command'])
    if service['image'] != f'localhost/oomsnoop:{version_of(binary)}':
        yield f'the image is {service["image"]}'
    for volume in service['volumes']:
        host, inside, mode = volume.split(':')
        if inside != '/host' + host or mode != 'ro':
            yield f'volume {volume}'


def test_image(binary):
    config, layer = read_image()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'layer.tar.gz'
        path.write_bytes(layer)
        with tarfile.open(path) as tar:
            members = tar.getmembers()
            said = subprocess.run(['gzip', '-dc', path], capture_output=True, check=True).stdout
    if IMAGE.stat().st_size > IMAGE_MAX or len(said) > IMAGE_MAX:
        yield f'{IMAGE.stat().st_size} bytes packed, {len(said)} unpacked'
    programs = [one.name for one in members if one.isfile() and one.mode & 0o111]
    if programs != ['usr/bin/oomsnoop']:
        yield f'programs: {programs}'
    odd = [one.name for one in members if one.mtime or one.uid or one.gid or one.mode & 0o7022]
    if odd:
        yield f'times, owners or modes: {odd}'
    if config['config']['Entrypoint'] != ['oomsnoop']:
        yield f'entry point {config["config"]["Entrypoint"]}'
    if config['config']['Labels']['org.opencontainers.image.version'] != version_of(binary):
        yield 'the label has another version'
    copyrights = {one.name.split('/')[-2] for one in members if one.name.endswith('/copyright')}
    for package in ('libbpf-dev', 'libc6-dev', 'libelf-dev', 'libsqlite3-dev', 'zlib1g-dev'):
        if package not in copyrights:
            yield f'no copyright of {package}'
    if not any(one.name.endswith('LICENSES/uPlot.txt') for one in members):
        yield 'no licence of what the page embeds'


def test_image_is_reproducible(_):
    """Built again, elsewhere, by another umask, from a file of another time: the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / 'binary'
        for suffix in ('', '.map'):
            source = TOP / 'build' / f'oomsnoop-static{suffix}'
            shutil.copyfile(source, f'{copy}{suffix}')
        out = Path(folder) / 'image.tar'
        version = read_image()[0]['config']['Labels']['org.opencontainers.image.version']
        subprocess.run(
            ['sh', '-c', 'umask 077; exec "$@"', 'sh', TOP / 'packaging/container/build', copy]
            + [version, out],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        if out.read_bytes() != IMAGE.read_bytes():
            yield 'another image came of the same binary'


def test_docs_name_every_capability(binary):
    doctor = doctor_of(binary)
    text = (TOP / 'docs' / 'kubernetes.md').read_text(encoding='utf-8')
    for entry in doctor['rights']['extra']:
        if f'`{entry["capability"].removeprefix("CAP_")}`' not in text:
            yield f'docs/kubernetes.md does not name {entry["capability"]}'


def tests():
    return {
        name.removeprefix('test_').replace('_', '-'): test
        for name, test in globals().items()
        if name.startswith('test_')
    }


def check(test, binary):
    """The errors of one test; one that breaks has failed."""
    try:
        return list(test(binary))
    except (AssertionError, ValueError, KeyError, OSError, subprocess.SubprocessError) as error:
        return [f'{type(error).__name__}: {error}']


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('binary', nargs='?', default=TOP / 'build' / 'oomsnoop', type=Path)
    parser.add_argument('-q', '--quiet', action='store_true')
    parser.add_argument('-t', '--test', action='append', help='only this test')
    options = parser.parse_args()
    if os.geteuid() != 0 or not options.binary.exists() or not IMAGE.exists():
        print(f'manifest_test: needs root, {options.binary} and {IMAGE}', file=sys.stderr)
        return 69
    results = Results(options.quiet)
    for name, test in tests().items():
        if not options.test or name in options.test:
            results.add(f'manifests/{name}', check(test, str(options.binary)))
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
