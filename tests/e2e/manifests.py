# SPDX-License-Identifier: Apache-2.0
"""Kustomizations resolved, as far as those of packaging/kubernetes go: resources, namespace, strategic
merge patches by path, images. A field that is not known here is an error, not passed over."""
import copy
from pathlib import Path

import yaml

PACKAGING = Path(__file__).resolve().parents[2] / 'packaging'
KUBERNETES = PACKAGING / 'kubernetes'
KNOWN = {'apiVersion', 'kind', 'namespace', 'resources', 'patches', 'images'}
# By which field the elements of a list are told apart when a patch is merged; other lists are
# replaced. From the API's patchMergeKey.
MERGE_KEYS = {
    'containers': 'name',
    'initContainers': 'name',
    'volumes': 'name',
    'env': 'name',
    'volumeMounts': 'mountPath',
}


class Strict(yaml.SafeLoader):
    """A key that is there twice is an error: YAML would take the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(f'{sorted(twice)} twice in a mapping{node.start_mark}')
        return super().construct_mapping(node, deep)


def load(path):
    with open(path, encoding='utf-8') as file:
        return [one for one in yaml.load_all(file, Strict) if one is not None]


def folders():
    return sorted(path.parent for path in KUBERNETES.rglob('kustomization.yaml'))


# --- strategic merge ---


def merged_list(name, old, new):
    key = MERGE_KEYS.get(name)
    if not key:
        return copy.deepcopy(new)
    result = list(old)
    for element in new:
        at = next((i for i, had in enumerate(result) if had[key] == element[key]), None)
        if element.get('$patch') == 'delete':
            if at is None:
                raise ValueError(f'{name}: {element[key]} is to be deleted and not there')
            del result[at]
        elif at is None:
            result.append(copy.deepcopy(element))
        else:
            result[at] = merged(result[at], element)
    return result


def merged(old, new):
    if new.get('$patch') == 'replace':
        return {key: copy.deepcopy(value) for key, value in new.items() if key != '$patch'}
    result = dict(old)
    for key, value in new.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(old.get(key), dict):
            result[key] = merged(old[key], value)
        elif isinstance(value, list) and isinstance(old.get(key), list):
            result[key] = merged_list(key, old[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


# --- kustomizations ---


def identity(one):
    return one['apiVersion'], one['kind'], one['metadata']['name']


def patched(objects, patch):
    found = [i for i, one in enumerate(objects) if identity(one) == identity(patch)]
    if len(found) != 1:
        raise ValueError(f'a patch of {identity(patch)} has {len(found)} targets')
    objects[found[0]] = merged(objects[found[0]], patch)


def pod_spec(one):
    """Of a pod or of what makes pods; None: neither."""
    if one['kind'] == 'Pod':
        return one['spec']
    return one.get('spec', {}).get('template', {}).get('spec')


def with_image(objects, image):
    for one in objects:
        for container in (pod_spec(one) or {}).get('containers', []):
            name = container['image'].partition(':')[0]
            if name == image['name']:
                container['image'] = f'{image.get("newName", name)}:{image["newTag"]}'


def resolve(folder):
    """The objects of a folder, in their order."""
    (kustomization,) = load(folder / 'kustomization.yaml')
    unknown = set(kustomization) - KNOWN
    if unknown:
        raise ValueError(f'{folder}: {sorted(unknown)} cannot be resolved here')
    objects = []
    for name in kustomization['resources']:
        path = folder / name
        objects += resolve(path) if path.is_dir() else load(path)
    for patch in kustomization.get('patches', []):
        for one in load(folder / patch['path']):
            patched(objects, one)
    for image in kustomization.get('images', []):
        with_image(objects, image)
    for one in objects:
        if 'namespace' in kustomization and one['kind'] != 'Namespace':
            one['metadata']['namespace'] = kustomization['namespace']
    return objects


def tracer(objects):
    """(pod's spec, container) of oomsnoop."""
    for one in objects:
        for container in (pod_spec(one) or {}).get('containers', []):
            if container['name'] == 'oomsnoop':
                return pod_spec(one), container
    raise ValueError('no container named oomsnoop')
