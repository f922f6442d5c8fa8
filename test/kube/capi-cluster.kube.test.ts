// The commands about one Cluster, against a real API server: its objects say what the providers would have written.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { applyCrds } from '../../mocks/kube/crds.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import {
  bootstrapConfigs,
  bootstrapConfigType,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
} from '../../src/capi/api.ts';
import { bootstrapCrds, controlPlaneCrd } from '../../src/capi/crds.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { namespaces } from '../../src/cluster/kinds.ts';
import type { KubeKind, KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { configSpec, controlPlaneObject } from '../capi/cluster.ts';

const cluster = 'demo';
const labels = { [capiNames.clusterName]: cluster };
const target = { namespace: cluster, name: cluster };
let rig: Rig;
let kubeconfig: string;
let printed: string[];

/** A kind of core, of which any content is taken. */
const definitionOf = ({ group, version, plural }: KubeKind, kind: string): KubeObject => ({
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { name: `${plural}.${group}` },
  spec: {
    ...{ group, scope: 'Namespaced', names: { plural, singular: kind.toLowerCase(), kind } },
    versions: [
      {
        ...{ name: version, served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
});

beforeAll(async () => {
  rig = await startRig({ crds: [] });
  const folder = join(rig.folder, 'definitions');
  mkdirSync(folder);
  const definitions = [
    ...[controlPlaneCrd, ...bootstrapCrds],
    ...[definitionOf(clusters, 'Cluster'), definitionOf(capiMachines, 'Machine')],
  ];
  for (const one of definitions)
    writeFileSync(join(folder, `${one.metadata.name}.yaml`), JSON.stringify(one));
  await applyCrds(rig.client, folder, 'all');
  await rig.client.apply(namespaces, {
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster } },
  });
  await rig.client.create(clusters, {
    ...{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { ...target, labels } },
  });
  const plane = controlPlaneObject(cluster);
  await rig.client.create(controlPlanes, {
    ...{ ...plane, metadata: { ...plane.metadata, labels } },
  });
  await rig.client.create(bootstrapConfigs, {
    ...{ ...bootstrapConfigType, metadata: { name: 'm0', namespace: cluster, labels } },
    spec: configSpec,
  });
  kubeconfig = join(rig.folder, 'management.kubeconfig');
  writeFileSync(kubeconfig, rig.kubeconfig);
});
afterAll(() => rig.close());
beforeEach(() => {
  printed = [];
  const keep = (text: unknown): boolean => printed.push(String(text)) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const watch = (...words: readonly string[]): Promise<number> =>
  bootwright().run([
    ...['capi', 'watch', '--kubeconfig', kubeconfig, '--cluster', `${cluster}/${cluster}`],
    ...words,
  ]);

/** A line that the command has printed, now or later. */
const line = (pattern: RegExp): Promise<void> =>
  vi.waitFor(() => expect(printed.join('')).toMatch(pattern), { timeout: 60_000, interval: 20 });

const set = (kind: KubeKind, name: string, ...of: readonly [string, string, string, string?]) => {
  const [type, status, reason, message = ''] = of;
  const ref: KubeRef = { kind, namespace: cluster, name };
  const condition = { type, status, reason, message, lastTransitionTime: '2026-11-27T06:00:00Z' };
  return rig.client.mergeStatus(ref, { conditions: [condition] });
};
const host = (...of: readonly [status: string, reason: string, message?: string]) =>
  set(bootstrapConfigs, 'm0', 'Ready', ...of);
const plane = (...of: readonly [status: string, reason: string, message?: string]) =>
  set(controlPlanes, cluster, 'Available', ...of);

describe('R40 to R43: capi watch', () => {
  it('says each stage, also after a restart of the API server, and ends with the installation', async () => {
    await host('False', 'Installing', 'Installing');
    const ended = watch('--timeout', '1h');
    await line(/^\S+ host m0: Installing$/m);
    await rig.api.kill();
    await line(/^note: .*does not answer/m);
    await rig.api.start();
    await host('False', 'InstallationFailed', 'Installing: disk.busy: mounted — unmount it');
    await line(/^\S+ failed: host m0: Installing: disk\.busy: .*unmount it; next: ./m);
    await line(/^note: .*answers again/m);
    await host('True', 'Installed');
    await plane('True', 'Available');
    expect(await ended).toBe(0);
    const lines = printed.join('').match(/^\S+Z .*$/gm) ?? [];
    expect(lines.map((one) => one.replace(/^\S+ /, '').replace(/: disk.*/, ''))).toEqual([
      ...['host m0: Installing', 'failed: host m0: Installing', 'host m0: Installed'],
      ...['control plane demo: Available True Available', 'Cluster demo/demo: installed'],
    ]);
  });

  it('ends by what has failed, where that is asked for', async () => {
    await host('False', 'InstallationFailed', 'Installing: disk.busy: mounted — unmount it');
    await expect(watch('--fail-fast')).rejects.toMatchObject({
      ...{ code: 'capi.installation-failed', kind: 'cluster' },
      message: expect.stringContaining('host m0: Installing: disk.busy') as string,
    });
    await expect(watch('--timeout', '4s')).rejects.toMatchObject({
      code: 'capi.installation-failed',
    });
  });

  it('ends at its time, and of what is not there at once', async () => {
    await host('False', 'Installing');
    await expect(watch('--timeout', '1s')).rejects.toMatchObject({
      ...{ code: 'capi.not-installed', kind: 'limit' },
    });
    await expect(watch('--timeout', 'soon')).rejects.toMatchObject({ code: 'cli.bad-flag' });
    await expect(watch('--cluster', `${cluster}/other`)).rejects.toMatchObject({
      ...{ code: 'capi.cluster-not-found', kind: 'input' },
    });
    await expect(watch('--cluster', cluster)).rejects.toMatchObject({ code: 'cli.bad-flag' });
  });

  it('ends with a Cluster that is deleted', async () => {
    const ended = watch();
    await line(/^\S+ host m0: Installing$/m);
    await rig.client.remove({ kind: clusters, ...target });
    await expect(ended).rejects.toMatchObject({ code: 'capi.cluster-deleted', kind: 'cluster' });
  });
});
