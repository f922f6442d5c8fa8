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
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}`;

const textsOf = (...secrets: readonly KubeObject[]): readonly string[] =>
  checkManifests(secrets).map(
    (one) => `${one.isWarning ? 'warning ' : ''}${manifestFindingText(one)}`,
  );

const ofFile = (file: string, text: string): readonly string[] =>
  textsOf(secret('a', { [file]: text }));

const machineConfig = (config: string): string =>
  [
    'apiVersion: machineconfiguration.openshift.io/v1',
    'kind: MachineConfig',
    'metadata:',
    '  name: 99-a',
    '  labels:',
    '    machineconfiguration.openshift.io/role: master',
    'spec:',
    '  config:',
    config,
  ].join('\n');

const osConfig = (pool: string, secretName = 'push'): string =>
  [
    'apiVersion: machineconfiguration.openshift.io/v1',
    'kind: MachineOSConfig',
    'metadata:',
    `  name: ${pool}`,
    'spec:',
    '  machineConfigPool:',
    '    name: master',
    '  imageBuilder:',
    '    imageBuilderType: Job',
    '  renderedImagePushSecret:',
    `    name: ${secretName}`,
    '  renderedImagePushSpec: registry.example.com/os/master:latest',
    '',
  ].join('\n');

const pushSecret = [
  'apiVersion: v1',
  'kind: Secret',
  'metadata:',
  '  name: push',
  '  namespace: openshift-machine-config-operator',
  'type: kubernetes.io/dockerconfigjson',
  'data:',
  `  .dockerconfigjson: ${Buffer.from('{"auths":{}}').toString('base64')}`,
].join('\n');

describe('manifests in Secrets', () => {
  it.each<readonly [what: string, file: string, text: string, ...found: string[]]>([
    ['what is right', 'a.yaml', configMap('a', 'data:\n  a: "1"\n')],
    ['JSON', 'a.json', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'],
    [
      'no YAML',
      'a.yaml',
      'a: b: c\n',
      'a/a.yaml:1:4: Nested mappings are not allowed in compact mappings',
    ],
    [
      'YAML in a file of JSON',
      'a.json',
      '{"apiVersion": v1}',
      'a/a.json:1:16: not JSON: Unexpected character',
    ],
    ['nothing', 'a.yaml', '# nothing\n---\n', 'a/a.yaml:1:1: the file is empty'],
    ['a list', 'a.yaml', '- a\n', 'a/a.yaml:1:1: an object is expected, and this is a list'],
    [
      'no kind and no version',
      'a.yaml',
      'metadata:\n  name: a\n',
      'a/a.yaml:1:1: apiVersion is expected, as v1 or apps/v1',
      'a/a.yaml:1:1: kind is expected, one word as ConfigMap',
    ],
    [
      'a version that is none',
      'a.yaml',
      configMap('a').replace('v1', 'apps/v1/x'),
      'a/a.yaml:1:1: apiVersion is expected, as v1 or apps/v1',
    ],
    [
      'no name',
      'a.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n',
      'a/a.yaml:3:1: metadata.name is expected',
    ],
    [
      'a number as its name',
      'a.yaml',
      configMap('0644'),
      'a/a.yaml:4:3: metadata.name must be a text: write it in quotes',
    ],
    ['a name by the server', 'a.yaml', configMap('a').replace('name', 'generateName')],
    [
      'a bool of YAML 1.1 as a text',
      'a.yaml',
      configMap('a', 'data:\n  a: yes\n  b: "yes"\n  c: 0644\n'),
      'a/a.yaml:6:3: data.a must be a text: write it in quotes',
      'a/a.yaml:8:3: data.c must be a text: write it in quotes',
    ],
    [
      'a bool as an annotation',
      'a.yaml',
      configMap('a', '  annotations:\n    a/b: on\n'),
      'a/a.yaml:6:5: metadata.annotations.a/b must be a text: write it in quotes',
    ],
    [
      'data that are not base64',
      'a.yaml',
      pushSecret.replace('eyJ', 'e-J'),
      'a/a.yaml:8:3: data..dockerconfigjson must be base64',
    ],
    [
      'a List',
      'a.yaml',
      'apiVersion: v1\nkind: List\nitems: []\n',
      'a/a.yaml:3:1: a List is not possible among manifests: give each object a file of its own',
    ],
    [
      'a second object',
      'a.yaml',
      `${configMap('a')}---\n${configMap('b')}`,
      'warning a/a.yaml:6:1: bootkube creates only the first object of a file: give this one a file of its own',
    ],
    [
      'an object given twice',
      'a.yaml',
      `${osConfig('master')}---\n${osConfig('master')}`,
      'a/a.yaml:17:3: MachineOSConfig.machineconfiguration.openshift.io master is given twice: also in a/a.yaml:4:3',
    ],
    [
      'Ignition with a wrong path',
      'a.yaml',
      machineConfig(
        '    ignition:\n      version: 3.4.0\n    storage:\n      files:\n      - path: etc/a',
      ),
      'a/a.yaml:13:9: storage.files[0].path must be absolute [path-relative]',
    ],
    [
      'a file that is not UTF-8',
      'a.yaml',
      'a\nb: \u0000',
      'a/a.yaml:1: a text is expected, in UTF-8, and this file is binary',
    ],
    [
      'a hidden file',
      '.a.yaml',
      configMap('a'),
      'a/.a.yaml: the name of a manifest has letters, digits, -, _ and ., begins with a letter or a digit, and ends with .yaml, .yml or .json',
    ],
  ])('%s', (...[, file = '', text = '', ...found]) => {
    expect(ofFile(file, text)).toEqual(found);
  });

  it('all findings of a Secret come at once', () => {
    const texts = textsOf(secret('a', { 'b.yaml': 'a: [', 'a.yaml': configMap('') }, 'other'));
    expect(texts.map((text) => text.split(':')[0])).toEqual(['a', 'a/a.yaml', 'a/b.yaml']);
  });

  it('a Secret without files, or without its folder, is refused', () => {
    expect(textsOf(secret('a', {}, ''))).toEqual([
      'a: annotation bootwright.io/manifest-folder: expected manifests or openshift',
      'a: the Secret holds no manifest',
    ]);
  });

  it('files and objects of several Secrets are there once', () => {
    const one = secret('one', { 'a.yaml': configMap('a') });
    const two = secret('two', { 'a.yaml': configMap('b'), 'b.yaml': configMap('a') }, 'openshift');
    expect(checkManifests([one, two]).map(manifestFindingText)).toEqual([
      'two/a.yaml: the Secret one has a file of this name too',
      'two/b.yaml:4:3: ConfigMap a is given twice: also in one/a.yaml:4:3',
    ]);
  });

  it('objects of one name and another kind, group or namespace are others', () => {
    const texts = [
      configMap('a'),
      configMap('a', '  namespace: b\n'),
      configMap('a').replace('v1', 'apps/v1'),
      configMap('a').replace('ConfigMap', 'Pod'),
    ];
    const files = Object.fromEntries(texts.map((text, at) => [`${at}.yaml`, text]));
    expect(textsOf(secret('a', files))).toEqual([]);
  });

  it.each([
    ['nested', `a: ${'['.repeat(5000)}`],
    [
      'with a bomb of aliases',
      `a: &a [${'x,'.repeat(50)}]\n${Array.from({ length: 9 }, (_, at) => `k${at}: &${'bcdefghijk'[at]} [${`*${'abcdefghij'[at]},`.repeat(50)}]`).join('\n')}\n`,
    ],
  ])('what is %s is refused, and not followed', (_, text) => {
    expect(ofFile('a.yaml', text)).toHaveLength(1);
  });
});

describe('what MachineOSConfigs refer to', () => {
  it('is among the manifests', () => {
    const config = secret('config', { 'a.yaml': osConfig('master') });
    expect(checkManifests([config]).map(manifestFindingText)).toEqual([
      'config/a.yaml:11: spec.renderedImagePushSecret.name: there is no Secret push in openshift-machine-config-operator',
    ]);
    expect(checkManifests([config, secret('push', { 'b.yaml': pushSecret })])).toEqual([]);
  });
});
