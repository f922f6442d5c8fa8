import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../ports/kube.ts';
import { findingText } from './manifests.ts';
import { checkInstallState, installConfigText } from './install-state.ts';

const config = [
  'apiVersion: v1',
  'metadata:',
  '  name: demo',
  'baseDomain: example.com',
  'controlPlane:',
  '  name: master',
  '  replicas: 3',
  'platform:',
  '  none: {}',
  `pullSecret: '{"auths":{}}'`,
  '',
].join('\n');

const state = (text: string): string =>
  JSON.stringify({
    '*installconfig.InstallConfig': {
      file: { Filename: 'install-config.yaml', Data: Buffer.from(text).toString('base64') },
    },
  });

const secret = (files: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { name: 'demo-install-state', namespace: 'demo' },
  stringData: files,
});

const found = (files: Readonly<Record<string, string>>, agreeing = {}): readonly string[] =>
  checkInstallState(secret(files), agreeing).map(
    (one) => `${one.isWarning ? 'warning ' : ''}${findingText(one)}`,
  );

describe('the Secret with the state of the installer', () => {
  it.each<readonly [what: string, text: string, ...found: string[]]>([
    ['is right', config],
    ['has no replicas, which are 3', config.replace('  replicas: 3\n', '')],
    [
      'is no YAML',
      'a: [',
      'data[install-config.yaml]:1:5: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    [
      'is empty',
      '',
      'data[install-config.yaml]:1:1: an install-config is expected, and the file is empty',
    ],
    [
      'is of another version',
      config.replace('v1', 'v2'),
      'data[install-config.yaml]:1:1: apiVersion: v1 is expected',
    ],
    [
      'has no name',
      config.replace('name: demo', 'labels: {}'),
      'data[install-config.yaml]:2:1: metadata.name is expected, the name of the cluster',
    ],
    [
      'has two masters',
      config.replace('3\n', '2\n'),
      'data[install-config.yaml]:7:3: controlPlane.replicas must be 1, 3, 4 or 5',
    ],
    [
      'has masters in words',
      config.replace('3\n', 'three\n'),
      'data[install-config.yaml]:7:3: controlPlane.replicas must be 1, 3, 4 or 5',
    ],
    [
      'has two platforms',
      config.replace('  none: {}', '  none: {}\n  aws: {}'),
      'warning data[install-config.yaml]:8:1: platform is expected, with one platform below it',
    ],
    [
      'has no pull secret',
      config.replace('{"auths":{}}', 'x'),
      'warning data[install-config.yaml]:10:1: pullSecret is expected, JSON with auths',
    ],
    [
      'has a second document',
      `${config}---\na: b\n`,
      'data[install-config.yaml]:12:1: one document is expected',
    ],
  ])('its install-config %s', (...[, text = '', ...expected]) => {
    expect(found({ 'install-config.yaml': text })).toEqual(expected);
  });

  it.each<readonly [what: string, text: string, ...found: string[]]>([
    ['is right', state(config)],
    ['is one of another version', '{"*other.Asset":{}}'],
    [
      'is no JSON',
      '{"a": b}',
      'data[.openshift_install_state.json]:1:7: the state of the installer is JSON: Unexpected character',
    ],
    [
      'is a list',
      '[]',
      'data[.openshift_install_state.json]:1:1: the state of the installer is an object',
    ],
  ])('its state %s', (...[, text = '', ...expected]) => {
    expect(found({ '.openshift_install_state.json': text })).toEqual(expected);
  });

  it('has one of the two', () => {
    expect(found({ other: 'a' })).toEqual([
      'the Secret has neither install-config.yaml nor .openshift_install_state.json',
    ]);
  });

  it.each([
    [{ cluster: 'demo', replicas: 3 }, []],
    [{ cluster: 'other' }, ['metadata.name is demo, and the Cluster is called other']],
    [{ replicas: 5 }, ['controlPlane.replicas is 3, and the control plane has 5']],
  ])('agrees with the control plane: %o', (agreeing, why) => {
    for (const files of [
      { 'install-config.yaml': config },
      { '.openshift_install_state.json': state(config) },
    ])
      expect(checkInstallState(secret(files), agreeing).map((one) => one.why)).toEqual(why);
  });

  it('the install-config is found in the state, once the installer has consumed its file', () => {
    expect(installConfigText({ state: state(config) })?.text).toBe(config);
    expect(installConfigText({ config: 'a', state: state(config) })?.text).toBe('a');
    expect(installConfigText({})).toBeUndefined();
  });
});
