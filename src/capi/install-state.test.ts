import { describe, expect, it } from 'vitest';
import type { Fields } from '../lib/fields.ts';
import { installConfigProblems, readInstallConfig, staleStateProblems } from './install-state.ts';

const config = 'metadata: {name: demo}\ncontrolPlane: {replicas: 3}\n';
const state = JSON.stringify({
  '*installconfig.InstallConfig': {
    file: { Filename: 'install-config.yaml', Data: Buffer.from(config).toString('base64') },
  },
});
const read = (files: { readonly config?: string; readonly state?: string }) =>
  readInstallConfig({ config: undefined, state: undefined, ...files });

describe('an install-config', () => {
  it('is read from its file, or from the state once the installer has consumed the file', () => {
    expect(read({ config: 'a: 1', state })).toEqual({ a: 1 });
    expect(read({ state })).toEqual({ metadata: { name: 'demo' }, controlPlane: { replicas: 3 } });
  });

  it.each(['{"*other.Asset":{}}', '{"a": b}', '[]'])(
    'is undefined for a state without it: %s',
    (text) => {
      expect(read({ state: text })).toBeUndefined();
    },
  );

  it('is refused with the line when it is not YAML', () => {
    expect(() => read({ config: 'a: [' })).toThrow('install-config.yaml:1: Flow sequence');
  });

  it.each([
    ['demo', 3, []],
    ['other', 3, ['metadata.name is demo, and the Cluster is called other']],
    ['demo', 5, ['controlPlane.replicas is 3, and the control plane has 5']],
  ])('is compared with Cluster %s and %i masters', (cluster, replicas, problems) => {
    const found = read({ state }) ?? {};
    expect(installConfigProblems(found, { cluster, replicas })).toEqual(problems);
  });

  it.each([
    ['unchanged since', config, ['manifests/cluster-config.yaml'], 0],
    ['changed since', `${config}fips: true`, ['manifests/cluster-config.yaml'], 1],
    ['changed, and all manifests are made again', `${config}fips: true`, ['openshift/a.yaml'], 0],
  ])('is compared with the copy of which manifests were made: %s', (_, text, manifests, count) => {
    expect(staleStateProblems({ config: text, state }, manifests)).toHaveLength(count);
  });

  it('defaults to three masters', () => {
    const problems = (controlPlane: Fields, replicas: number) =>
      installConfigProblems({ metadata: {}, controlPlane }, { cluster: undefined, replicas });
    const found = [problems({}, 3), problems({ replicas: null }, 3), problems({}, 1)];
    expect(found.map(({ length }) => length)).toEqual([0, 0, 1]);
  });
});
