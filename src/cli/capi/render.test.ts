import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../ports/kube.ts';
import { type CapiRenderCall, runCapiRender } from './render.ts';

let dir: string;
let lines: string[];

/** An earlier version rendered a MachineHealthCheck for it that deleted slow workers. */
const installConfig = `apiVersion: v1
baseDomain: example.com
metadata:
  name: demo
compute:
- name: worker
  replicas: 2
controlPlane:
  name: master
  replicas: 3
platform:
  none: {}
pullSecret: '{"auths":{"quay.io":{"auth":"dTpw"}}}'
`;
const motd = (spec: string): string =>
  `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-motd
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  ${spec}
`;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'bootwright-render-'));
  writeFileSync(join(dir, 'install-config.yaml'), installConfig);
  mkdirSync(join(dir, 'openshift'));
  lines = [];
  const keep = (line: unknown): boolean => lines.push(String(line)) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

const render = (more: Partial<CapiRenderCall> = {}, run = runCapiRender): Promise<number> =>
  run({
    dir,
    releaseImage: 'r.test/release@sha256:0',
    openshiftVersion: '4.20.1',
    agentImage: 'r.test/agent:1',
    platform: 'external',
    installDevice: '/dev/vda',
    ...more,
  });
const path = (name: string): string => join(dir, 'infrastructure-manifests', name);
const objectsIn = (name: string): readonly KubeObject[] =>
  [parseAllDocuments(readFileSync(path(name), 'utf8'))]
    .flat()
    .map((document) => document.toJS() as KubeObject);

it('writes all manifests for kubectl apply with their Secrets, but no MachineHealthCheck', async () => {
  writeFileSync(join(dir, 'openshift', '99-motd.yaml'), motd('kernelArguments: [nosmt]'));
  expect(await render()).toBe(0);
  expect(lines.filter((line) => line.startsWith('wrote')).map((line) => line.slice(-25))).toEqual(
    [
      ...['00-namespace', '05-pull-secret', '06-install-config', '07-manifests'],
      ...['20-control-plane', '30-cluster', '40-workers'],
    ].map((name) => `wrote ${path(`${name}.yaml`)}\n`.slice(-25)),
  );
  const [state] = objectsIn('06-install-config.yaml');
  expect(state).toMatchObject({
    kind: 'Secret',
    metadata: { name: 'demo-install-state', namespace: 'demo' },
    data: { 'install-config.yaml': Buffer.from(installConfig).toString('base64') },
  });
  expect(statSync(path('06-install-config.yaml')).mode & 0o777).toBe(0o600);
  expect(objectsIn('07-manifests.yaml')).toMatchObject([
    { metadata: { annotations: { 'bootwright.io/manifest-folder': 'openshift' } } },
  ]);
  const kinds = objectsIn('40-workers.yaml').map(({ kind }) => kind);
  expect(kinds).toEqual(['OpenShiftBootstrapConfigTemplate', 'MachineDeployment']);
});

it('keeps existing files and reports those that differ', async () => {
  await render();
  lines = [];
  await render();
  expect(lines.join('')).toContain(`kept ${path('06-install-config.yaml')}\n`);
  lines = [];
  writeFileSync(join(dir, 'install-config.yaml'), `${installConfig}fips: true\n`);
  await render();
  const words = 'which differs: remove it to write it again';
  expect(lines.filter((line) => line.includes(words))).toEqual([
    `kept ${path('06-install-config.yaml')}, ${words}\n`,
  ]);
});

it('leaves no part of a file that it could not write', async () => {
  // Other tests of this process may have loaded the command with the real files.
  vi.resetModules();
  vi.doMock('node:fs/promises', () => ({
    ...fs,
    writeFile: async (at: string, text: string, options: object) => {
      if (!at.includes('20-control-plane')) return fs.writeFile(at, text, options);
      await fs.writeFile(at, text.slice(0, 100), options);
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    },
  }));
  const { runCapiRender: cut } = await import('./render.ts');
  vi.doUnmock('node:fs/promises');
  await expect(render({}, cut)).rejects.toMatchObject({ code: 'capi.not-written' });
  expect(() => statSync(path('20-control-plane.yaml'))).toThrow('ENOENT');
  lines = [];
  await render();
  expect(lines.join('')).toContain(`wrote ${path('20-control-plane.yaml')}`);
});

it('fails where its folder is a file', async () => {
  writeFileSync(join(dir, 'infrastructure-manifests'), '');
  await expect(render()).rejects.toMatchObject({ code: 'capi.not-written' });
});

it.each([
  [
    'an invalid manifest with its position',
    { 'openshift/99-motd.yaml': motd('kernelArguments: nosmt') },
    ['error: openshift/99-motd.yaml:8:3: spec.kernelArguments must be'],
  ],
  [
    'an install-config that was edited after its manifests were made',
    {
      '.openshift_install_state.json': '{}',
      'manifests/cluster-config.yaml': motd('kernelArguments: [nosmt]'),
    },
    ['error: install-config.yaml differs from the one in'],
  ],
  [
    'an object that is given twice, with both files',
    {
      'manifests/a.yaml': motd('kernelArguments: [nosmt]'),
      'openshift/b.yaml': motd('kernelArguments: [nosmt]'),
    },
    ['error: openshift/b.yaml:4:3: MachineConfig.', 'also in manifests/a.yaml:4:3'],
  ],
])('refuses %s and writes nothing', async (_, files, words) => {
  mkdirSync(join(dir, 'manifests'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  await expect(render()).rejects.toMatchObject({ code: 'capi.input-invalid', kind: 'input' });
  for (const word of words) expect(lines.join('')).toContain(word);
  expect(() => statSync(path('00-namespace.yaml'))).toThrow('ENOENT');
});

it('refuses a disk with Metal3, which has chosen it', async () => {
  const metal3 = { platform: 'metal3', imageUrl: 'https://i', imageChecksum: 'a' };
  await expect(render(metal3)).rejects.toMatchObject({
    code: 'cli.bad-flag',
    message: expect.stringContaining('--install-device') as string,
  });
});

it('names only references that are not filled in', async () => {
  await render();
  expect(lines.join('')).toContain(`fill in ${path('30-cluster.yaml')}: spec.infrastructureRef`);
  const text = readFileSync(path('30-cluster.yaml'), 'utf8');
  const filled = text.replace('kind: ""', 'kind: A').replace('apiGroup: ""', 'apiGroup: a.b');
  writeFileSync(path('30-cluster.yaml'), filled);
  lines = [];
  await render();
  const named = lines.filter((line) => line.startsWith('fill in'));
  expect(named.map((line) => /\d\d-[a-z-]+/.exec(line)?.[0])).toEqual([
    '20-control-plane',
    '40-workers',
  ]);
});
