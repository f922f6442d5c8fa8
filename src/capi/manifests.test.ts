import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../ports/kube.ts';
import { checkManifests, manifestFindingText } from './manifests.ts';

const secret = (
  name: string,
  files: Readonly<Record<string, string>>,
  folder: string | undefined = 'manifests',
): KubeObject => ({
  metadata: {
    name,
    namespace: 'demo',
    ...(folder === '' ? {} : { annotations: { 'bootwright.io/manifest-folder': folder } }),
  },
  data: Object.fromEntries(
    Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString('base64')]),
  ),
});

const configMap = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: default\n  name: ${name}\n${more}`;

const textsOf = (...secrets: readonly KubeObject[]): readonly string[] =>
  checkManifests(secrets).map(
    (one) => `${one.isWarning ? 'warning ' : ''}${manifestFindingText(one)}`,
  );

const ofFile = (file: string, text: string): readonly string[] =>
  textsOf(secret('a', { [file]: text }));

const machineConfig = (config: string): string => `\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-a
  labels:
    machineconfiguration.openshift.io/role: master
spec:
  config:
${config}`;

const ofOperator = (kind: string, spec: string): string =>
  `apiVersion: machineconfiguration.openshift.io/v1\nkind: ${kind}\nmetadata:\n  name: a\nspec:\n${spec}`;

const mirrorSet = (list: string): string =>
  `apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nmetadata:\n  name: a\nspec:\n  imageDigestMirrors:\n  ${list}\n`;

const osConfig = `\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineOSConfig
metadata:
  name: master
spec:
  machineConfigPool:
    name: master
  imageBuilder:
    imageBuilderType: Job
  renderedImagePushSecret:
    name: push
  renderedImagePushSpec: registry.example.com/os/master:latest
`;

const pushSecret = `\
apiVersion: v1
kind: Secret
metadata:
  name: push
  namespace: openshift-machine-config-operator
type: kubernetes.io/dockerconfigjson
data:
  .dockerconfigjson: ${Buffer.from('{"auths":{}}').toString('base64')}`;

describe('manifests in Secrets', () => {
  it.each<readonly [what: string, file: string, text: string, ...found: string[]]>([
    ['accepts a valid manifest', 'a.yaml', configMap('a', 'data:\n  a: "1"\n')],
    ['accepts JSON', 'a.json', '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}'],
    [
      'refuses invalid YAML',
      'a.yaml',
      'a: b: c\n',
      'a/a.yaml:1:4: Nested mappings are not allowed in compact mappings',
    ],
    [
      'refuses YAML in a JSON file',
      'a.json',
      '{"apiVersion": v1}',
      'a/a.json:1:16: not JSON: Unexpected character',
    ],
    ['refuses an empty file', 'a.yaml', '# nothing\n---\n', 'a/a.yaml:1:1: the file is empty'],
    [
      'refuses a list',
      'a.yaml',
      '- a\n',
      'a/a.yaml:1:1: an object is expected, and this is a list',
    ],
    [
      'refuses a missing kind and apiVersion',
      'a.yaml',
      'metadata:\n  name: a\n',
      'a/a.yaml:1:1: apiVersion is expected, as v1 or apps/v1',
      'a/a.yaml:1:1: kind is expected, one word as ConfigMap',
    ],
    [
      'refuses an invalid apiVersion',
      'a.yaml',
      configMap('a').replace('v1', 'apps/v1/x'),
      'a/a.yaml:1:1: apiVersion is expected, as v1 or apps/v1',
    ],
    [
      'refuses a missing name',
      'a.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  namespace: default\n',
      'a/a.yaml:3:1: metadata.name is expected',
    ],
    [
      'refuses a number as the name',
      'a.yaml',
      configMap('0644'),
      'a/a.yaml:5:3: metadata.name must be a text: write it in quotes',
    ],
    ['accepts generateName', 'a.yaml', configMap('a').replace('name: a', 'generateName: a')],
    [
      'refuses YAML 1.1 booleans and octals as text',
      'a.yaml',
      configMap('a', 'data:\n  a: yes\n  b: "yes"\n  c: 0644\n'),
      'a/a.yaml:7:3: data.a must be a text: write it in quotes',
      'a/a.yaml:9:3: data.c must be a text: write it in quotes',
    ],
    [
      'refuses a boolean as an annotation',
      'a.yaml',
      configMap('a', '  annotations:\n    a/b: on\n'),
      'a/a.yaml:7:5: metadata.annotations.a/b must be a text: write it in quotes',
    ],
    [
      'refuses a name with capitals or _',
      'a.yaml',
      configMap('My_Config'),
      'a/a.yaml:5:3: metadata.name has lower-case letters, digits, - and ., and begins and ends with a letter or a digit',
    ],
    [
      'refuses such a name of a pool',
      'a.yaml',
      configMap('infra_gpu')
        .replace('v1', 'machineconfiguration.openshift.io/v1')
        .replace('ConfigMap', 'MachineConfigPool'),
      'a/a.yaml:5:3: metadata.name has lower-case letters, digits, - and ., and begins and ends with a letter or a digit',
    ],
    [
      'accepts such a name of RBAC',
      'a.yaml',
      configMap('System:My_role')
        .replace('v1', 'rbac.authorization.k8s.io/v1')
        .replace('ConfigMap', 'ClusterRole'),
    ],
    [
      'refuses a namespace with capitals or _',
      'a.yaml',
      configMap('a').replace('default', 'Open_Shift'),
      'a/a.yaml:4:3: metadata.namespace has at most 63 lower-case letters, digits and -, the first and last no -',
    ],
    [
      'refuses a value of a label that has a blank',
      'a.yaml',
      configMap('a', '  labels:\n    a/b: "c "\n    d:\n'),
      'a/a.yaml:7:5: metadata.labels.a/b has at most 63 letters, digits, -, _ and ., and begins and ends with a letter or a digit',
    ],
    [
      'refuses a key of an annotation that has a blank',
      'a.yaml',
      configMap('a', '  annotations:\n    my note: a\n    A.Example.com/b: a b\n'),
      'a/a.yaml:7:5: metadata.annotations.my note is no key: NAME or DOMAIN/NAME is expected, without blanks',
    ],
    [
      'refuses what an exported object has',
      'a.yaml',
      configMap(
        'a',
        '  resourceVersion: "12"\n  uid: c\n  ownerReferences:\n  - {apiVersion: v1, kind: Pod, name: a, uid: b}\n',
      ),
      'a/a.yaml:6:3: metadata.resourceVersion must be left out: it belongs to the cluster from which the object was exported',
      'a/a.yaml:8:3: metadata.ownerReferences must be left out: it belongs to the cluster from which the object was exported',
    ],
    [
      'refuses a Role without a namespace',
      'a.yaml',
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: a\n',
      'a/a.yaml:3:1: metadata.namespace is expected: bootkube has no default namespace',
    ],
    [
      'refuses an empty namespace',
      'a.yaml',
      configMap('a').replace('default', '""'),
      'a/a.yaml:4:3: metadata.namespace is expected: bootkube has no default namespace',
    ],
    [
      'refuses a dot in the name of a Namespace',
      'a.yaml',
      'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a.b\n',
      'a/a.yaml:4:3: metadata.name has at most 63 lower-case letters, digits and -, the first and last no -',
    ],
    [
      'refuses a blank in a key of a ConfigMap',
      'a.yaml',
      configMap('a', 'data:\n  a b: c\n'),
      'a/a.yaml:7:3: data.a b is no key: it has letters, digits, -, _ and .',
    ],
    [
      'refuses a pull secret with a byte order mark',
      'a.yaml',
      pushSecret.replace('eyJ', '77u/eyJ'),
      'a/a.yaml:6:1: type kubernetes.io/dockerconfigjson needs .dockerconfigjson with an object in JSON',
    ],
    [
      'refuses a TLS secret without its key',
      'a.yaml',
      pushSecret.replace('dockerconfigjson', 'tls').replace('.dockerconfigjson', 'tls.crt'),
      'a/a.yaml:6:1: type kubernetes.io/tls needs tls.key',
    ],
    [
      'refuses data that is not base64',
      'a.yaml',
      pushSecret.replace('eyJ', 'e-J'),
      'a/a.yaml:8:3: data..dockerconfigjson must be base64',
    ],
    [
      'refuses a List',
      'a.yaml',
      'apiVersion: v1\nkind: List\nitems: []\n',
      'a/a.yaml:3:1: a List is not possible among manifests: give each object a file of its own',
    ],
    [
      'warns about a second object in a file',
      'a.yaml',
      `${configMap('a')}---\n${configMap('b')}`,
      'warning a/a.yaml:7:1: bootkube creates only the first object of a file: give this one a file of its own',
    ],
    [
      'refuses a duplicate object',
      'a.yaml',
      `${osConfig}---\n${osConfig}`,
      'a/a.yaml:17:3: MachineOSConfig.machineconfiguration.openshift.io master is given twice: also in a/a.yaml:4:3',
    ],
    [
      'refuses Ignition with a relative path',
      'a.yaml',
      machineConfig(
        '    ignition:\n      version: 3.4.0\n    storage:\n      files:\n      - {path: etc/a, overwrite: false}',
      ),
      'a/a.yaml:13:10: storage.files[0].path must be absolute [path-relative]',
    ],
    [
      'refuses a pool that is paused by a text',
      'a.yaml',
      ofOperator('MachineConfigPool', '  paused: "true"'),
      'a/a.yaml:6:3: spec.paused must be true or false, without quotes',
    ],
    [
      'refuses a selector with another operator, and a text in place of its values',
      'a.yaml',
      ofOperator(
        'MachineConfigPool',
        '  machineConfigSelector:\n    matchExpressions:\n    - {key: a, operator: in, values: b}',
      ),
      'a/a.yaml:8:16: spec.machineConfigSelector.matchExpressions.0.operator must be one of In, NotIn, Exists, DoesNotExist',
      'a/a.yaml:8:30: spec.machineConfigSelector.matchExpressions.0.values must be a list',
    ],
    [
      'accepts a pool and a limit of processes',
      'a.yaml',
      [
        ofOperator(
          'MachineConfigPool',
          '  paused: false\n  maxUnavailable: 10%\n  nodeSelector: {matchLabels: {a: ""}}',
        ),
        ofOperator('ContainerRuntimeConfig', '  containerRuntimeConfig: {pidsLimit: 2048}'),
      ].join('\n---\n'),
    ],
    [
      'refuses a limit of processes as a text',
      'a.yaml',
      ofOperator('ContainerRuntimeConfig', '  containerRuntimeConfig: {pidsLimit: "2048"}'),
      'a/a.yaml:6:28: spec.containerRuntimeConfig.pidsLimit must be a whole number, without quotes',
    ],
    [
      'refuses a mirror that is no list, and a source with a tag',
      'a.yaml',
      mirrorSet('- {source: "quay.io/a:1", mirrors: b.example.com}'),
      'a/a.yaml:7:6: spec.imageDigestMirrors.0.source must be HOST[:PORT][/PATH], without a scheme, a tag and a digest',
      'a/a.yaml:7:29: spec.imageDigestMirrors.0.mirrors must be a list',
    ],
    [
      'accepts mirrors',
      'a.yaml',
      mirrorSet(
        '- {source: "*.example.com", mirrors: ["b.example.com:5000/a/b-c_d"]}\n  - {source: quay.io}',
      ),
    ],
    [
      'refuses a binary file',
      'a.yaml',
      'a\nb: \u0000',
      'a/a.yaml:1: a text is expected, in UTF-8, and this file is binary',
    ],
    [
      'refuses a hidden file',
      '.a.yaml',
      configMap('a'),
      'a/.a.yaml: the name of a manifest has letters, digits, -, _ and ., begins with a letter or a digit, and ends with .yaml, .yml or .json',
    ],
  ])('%s', (...[, file = '', text = '', ...found]) => {
    expect(ofFile(file, text)).toEqual(found);
  });

  it('refuses an object in a namespace that no manifest and no release makes', () => {
    const files = {
      'a.yaml': configMap('a').replace('default', 'shop'),
      'b.yaml': configMap('b').replace('default', 'openshift-monitoring'),
      'c.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n',
    };
    expect(textsOf(secret('a', files))).toEqual([]);
    const { 'c.yaml': _, ...others } = files;
    expect(textsOf(secret('a', others))).toEqual([
      'a/a.yaml:4:3: no manifest makes the namespace shop, without which bootkube never creates this object',
    ]);
  });

  it('reports all findings of a Secret', () => {
    const texts = textsOf(secret('a', { 'b.yaml': 'a: [', 'a.yaml': configMap('') }, 'other'));
    expect(texts.map((text) => text.split(':')[0])).toEqual(['a', 'a/a.yaml', 'a/b.yaml']);
  });

  it('refuses a Secret without files or without the folder annotation', () => {
    expect(textsOf(secret('a', {}, ''))).toEqual([
      'a: annotation bootwright.io/manifest-folder: expected manifests or openshift',
      'a: the Secret holds no manifest',
    ]);
  });

  it('refuses a file or an object that two Secrets contain', () => {
    const one = secret('one', { 'a.yaml': configMap('a') });
    const two = secret('two', { 'a.yaml': configMap('b'), 'b.yaml': configMap('a') }, 'openshift');
    expect(checkManifests([one, two]).map(manifestFindingText)).toEqual([
      'two/a.yaml: one/a.yaml has the same name',
      'two/b.yaml:5:3: ConfigMap a of the namespace default is given twice: also in one/a.yaml:5:3',
    ]);
  });

  it('distinguishes objects of the same name by kind, group and namespace', () => {
    const texts = [
      configMap('a'),
      configMap('a').replace('default', 'kube-system'),
      configMap('a').replace('v1', 'apps/v1'),
      configMap('a').replace('ConfigMap', 'Pod'),
    ];
    const files = Object.fromEntries(texts.map((text, at) => [`${at}.yaml`, text]));
    expect(textsOf(secret('a', files))).toEqual([]);
  });
});

it('the Secrets of a MachineOSConfig must be among the manifests', () => {
  const config = secret('config', { 'a.yaml': osConfig });
  expect(checkManifests([config]).map(manifestFindingText)).toEqual([
    'config/a.yaml:11: spec.renderedImagePushSecret.name: there is no Secret push in openshift-machine-config-operator',
  ]);
  expect(checkManifests([config, secret('push', { 'b.yaml': pushSecret })])).toEqual([]);
});
