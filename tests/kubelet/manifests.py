# SPDX-License-Identifier: Apache-2.0
"""The project's own manifests, as the static pod that their DaemonSet would be on this node.

Of kustomize this knows what packaging/kubernetes uses: resources, the tags of images, and strategic
merge patches."""
import copy
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parents[2]
OVERLAYS = TOP / 'packaging' / 'kubernetes' / 'overlays'
# Lists whose elements a patch names; any other list is replaced as a whole.
KEYS = {
    'containers': 'name',
    'initContainers': 'name',
    'volumes': 'name',
    'env': 'name',
    'volumeMounts': 'mountPath',
}


def merge(base, patch, name=None):
    """base with a strategic merge patch applied; `name` is that of the field that holds it."""
    if isinstance(patch, dict) and isinstance(base, dict):
        if patch.get('$patch') == 'replace':
            return {key: value for key, value in patch.items() if key != '$patch'}
        merged = {**base}
        for key, value in patch.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = merge(base.get(key), value, key)
        return merged
    if isinstance(patch, list) and isinstance(base, list) and name in KEYS:
        return merge_lists(base, patch, KEYS[name])
    return patch


def merge_lists(base, patch, key):
    merged = list(base)
    for one in patch:
        places = [n for n, other in enumerate(merged) if other[key] == one[key]]
        if one.get('$patch') == 'delete':
            merged = [other for n, other in enumerate(merged) if n not in places]
        elif places:
            merged[places[0]] = merge(merged[places[0]], one)
        else:
            merged.append(one)
    return merged


def documents(path):
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def same(one, other):
    return one['kind'] == other['kind'] and one['metadata']['name'] == other['metadata']['name']


def set_tags(found, images):
    containers = found.get('spec', {}).get('template', {}).get('spec', {}).get('containers', ())
    for container in containers:
        for image in images:
            if container['image'] == image['name']:
                container['image'] = f'{image["name"]}:{image["newTag"]}'


def build(directory):
    """The objects of a kustomization."""
    wanted = yaml.safe_load((directory / 'kustomization.yaml').read_text())
    found = []
    for resource in wanted['resources']:
        path = directory / resource
        found += build(path) if path.is_dir() else documents(path)
    for patch in wanted.get('patches', ()):
        for one in documents(directory / patch['path']):
            found = [merge(other, one) if same(other, one) else other for other in found]
    for one in found:
        set_tags(one, wanted.get('images', ()))
    return found


def static_pod(variant, text=False):
    """What a DaemonSet's pod is on a node, as far as a kubelet without an API server can have it; with
    text, the same pod writing for people."""
    (daemon_set,) = (one for one in build(OVERLAYS / variant) if one['kind'] == 'DaemonSet')
    template = copy.deepcopy(daemon_set['spec']['template'])
    spec = template['spec']
    # A static pod may refer to no object of the API.
    del spec['serviceAccountName']
    # There is no network plugin on this node, and oomsnoop needs no network.
    spec['hostNetwork'] = True
    if text:
        for container in spec['containers']:
            container['args'] = [
                one for one in container['args'] if one not in ('--json', '--probe')
            ]
            # Their socket's name is that of the first one's.
            container.pop('readinessProbe')
            container.pop('livenessProbe')
    metadata = {
        **template['metadata'],
        'name': f'{daemon_set["metadata"]["name"]}-{variant}' + ('-text' if text else ''),
        'namespace': daemon_set['metadata']['namespace'],
    }
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': spec}
