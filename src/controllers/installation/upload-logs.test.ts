import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { withEndedPods } from '../../../test/support/ended-pods.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory, type FakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runInstallation, tryInstallationStep } from '../../../test/support/run-installation.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { pods } from '../../kube/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import type { Inventory } from '../../ports/inventory.ts';
import type { Kube } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { uploadFinalLogs } from './upload-logs.ts';

const name = 'assisted-installer-controller-x7k2p';
const pod = (podName = name, phase = 'Running') => ({
  metadata: {
    name: podName,
    namespace: 'assisted-installer',
    labels: { 'job-name': 'assisted-installer-controller' },
  },
  status: { phase },
});
const kubeWith = (log = 'it works\n') => fakeKube().put(pods, pod()).withPodLog(name, log);
const away = inventoryFailure('inventory.unreachable', 'service is away');

/** Name and text of the only file in an archive. */
function fileIn(archive: Uint8Array = new Uint8Array()): readonly [string, string] {
  const tar = gunzipSync(archive);
  const text = (from: number, to: number) => tar.subarray(from, to).toString('utf8');
  const size = Number.parseInt(text(124, 135), 8);
  return [text(0, 100).replaceAll('\0', ''), text(512, 512 + size)];
}

const lastText = ({ controllerLogs }: FakeInventory): string => fileIn(controllerLogs.at(-1))[1];

/** Lets the controller run for a while. */
async function uploadFor(
  run: { readonly kube?: Kube; readonly inventory?: Inventory; readonly host?: Host },
  time: number,
) {
  const { clock, stop } = runInstallation(['upload-logs-regularly'], run);
  await clock.advance(time);
  return stop();
}

describe('controller/upload-logs-regularly', () => {
  it('uploads the whole log of the running pod every five minutes', async () => {
    const kube = kubeWith().put(pods, pod('assisted-installer-controller-a', 'Failed'));
    const inventory = fakeInventory();
    await uploadFor({ kube, inventory }, minutes(16));
    expect(inventory.calls).toEqual(Array.from({ length: 3 }, () => 'uploadControllerLogs'));
    expect(fileIn(inventory.controllerLogs[0])).toEqual([
      'assisted-installer-controller.logs',
      'it works\n',
    ]);
  });

  it.each([
    ['its log is empty', kubeWith('')],
    [
      'the API server is unreachable',
      fakeKube().lastError(kubeFailure('kube.unreachable', 'refused')),
    ],
  ])('uploads the local log when %s', async (_, kube) => {
    const inventory = fakeInventory();
    const host = fakeHost().withFile('/tmp/controller_logs.log', 'from this pod');
    await uploadFor({ kube, inventory, host }, minutes(6));
    expect(lastText(inventory)).toBe('from this pod');
  });

  it('uploads the reason for a missing log', async () => {
    const inventory = fakeInventory();
    await uploadFor({ inventory }, minutes(6));
    expect(lastText(inventory)).toBe(
      'could not read the log of pod the controller: it is not there\n' +
        'could not read /tmp/controller_logs.log: it is not there\n',
    );
  });

  it('continues after a failure', async () => {
    const inventory = fakeInventory().failing('uploadControllerLogs', away);
    const { notes } = await uploadFor({ kube: kubeWith(), inventory }, minutes(11));
    expect(notes).toEqual(['warn: log of the controller: trying again']);
    expect(inventory.controllerLogs).toHaveLength(1);
  });

  it.each(['installed', 'error'])(
    'uploads nothing once the cluster is %s, to keep the final logs',
    async (status) => {
      const inventory = fakeInventory({ cluster: { status } });
      await uploadFor({ inventory }, minutes(16));
      expect(inventory.calls).toEqual([]);
    },
  );
});

describe('controller/upload-final-logs', () => {
  const whole = [
    'clusterLogsState requested',
    'uploadControllerLogs',
    'clusterLogsState completed',
  ];
  const logCalls = ({ calls }: FakeInventory) => calls.filter((call) => call !== 'operators');
  const config = { images: { mustGather: 'quay.io/mg' } };
  const failed = () => fakeInventory({ cluster: { status: 'error' } });

  it('reports requested, uploads, and reports completed', async () => {
    const admin = fakeKube();
    const inventory = fakeInventory({ cluster: { status: 'installed' } });
    const { notes } = await tryInstallationStep(uploadFinalLogs, {
      kube: kubeWith(),
      adminKube: admin,
      inventory,
      config,
    });
    expect(logCalls(inventory)).toEqual(whole);
    expect([...notes, ...admin.writes]).toEqual([]);
  });

  it('retries every 30 seconds and completes', async () => {
    const clock = fakeClock();
    const inventory = fakeInventory({ cluster: { status: 'installed' } });
    inventory.failing('uploadControllerLogs', away, 3);
    const run = { kube: kubeWith(), inventory, clock };
    await tryInstallationStep(uploadFinalLogs, run);
    expect(inventory.calls.filter((call) => call === 'uploadControllerLogs')).toHaveLength(4);
    expect(inventory.calls.at(-1)).toBe('clusterLogsState completed');
    expect(clock.now()).toBe(seconds(90));
  });

  it.each([
    ['does not know the cluster', inventoryFailure('inventory.not-found', 'no cluster')],
    [
      'rejects the token',
      inventoryFailure('inventory.denied', 'no token', { context: { status: 401 } }),
    ],
  ])('tries once when the service %s', async (_, error) => {
    const clock = fakeClock();
    const inventory = fakeInventory().failing('uploadControllerLogs', error, 1000);
    await tryInstallationStep(uploadFinalLogs, { clock, inventory, kube: kubeWith() });
    expect(logCalls(inventory)).toEqual(whole);
    expect(clock.elapsed()).toBe(0);
  });

  it('completes after 70 minutes of failed uploads, even if reporting the state fails too', async () => {
    const clock = fakeClock();
    const inventory = fakeInventory({ cluster: { status: 'installed' } })
      .failing('uploadControllerLogs', away, 1000)
      .failing('clusterLogsState', away, 2);
    await tryInstallationStep(uploadFinalLogs, { kube: kubeWith(), inventory, clock });
    expect(clock.now()).toBe(minutes(70));
    expect(inventory.calls.at(-1)).toBe('clusterLogsState completed');
  });

  it('uploads its log and then gathers the state of a failed cluster', async () => {
    const inventory = failed();
    const admin = withEndedPods(fakeKube(), { phase: 'Succeeded', log: 'uploaded' });
    const host = fakeHost().withFile('/etc/resolv.conf', 'nameserver 10.0.0.1\n');
    const { notes } = await tryInstallationStep(uploadFinalLogs, {
      kube: kubeWith(),
      adminKube: admin,
      inventory,
      config,
      host,
    });
    expect(logCalls(inventory)).toEqual(whole);
    expect(admin.writes.map(({ kind, verb }) => `${verb} ${kind}`)).toContain('create pods');
    expect(notes).toEqual([
      'info: /etc/resolv.conf: nameserver 10.0.0.1',
      'info: /tmp/var-run-resolv.conf: not there',
      'info: /tmp/host-resolv.conf: not there',
      'info: gathering the state of the cluster',
    ]);
  });

  it('gathers even if the resolver files cannot be read', async () => {
    const host = fakeHost();
    const unreadable = {
      ...host,
      readText: (path: string) => Promise.reject(new Error(`${path}: permission denied`)),
    };
    const admin = withEndedPods(fakeKube(), { phase: 'Succeeded', log: 'uploaded' });
    const { notes } = await tryInstallationStep(uploadFinalLogs, {
      kube: kubeWith(),
      adminKube: admin,
      inventory: failed(),
      config,
      host: unreadable,
    });
    expect(notes.filter((note) => note.startsWith('warn: could not read'))).toHaveLength(3);
    expect(admin.writes.map(({ kind, verb }) => `${verb} ${kind}`)).toContain('create pods');
  });

  it('gathers again after a failure, even if the log has been uploaded', async () => {
    const [bad, good] = [
      { phase: 'Failed', log: 'curl: (7) connection refused' },
      { phase: 'Succeeded', log: '' },
    ] as const;
    const admin = withEndedPods(fakeKube(), bad, good);
    const clock = fakeClock();
    const inventory = fakeInventory({ cluster: { status: 'installed' } });
    inventory.setOperators([{ name: 'odf', type: 'olm', status: 'failed' }]);
    const { notes } = await tryInstallationStep(uploadFinalLogs, {
      kube: kubeWith(),
      adminKube: admin,
      inventory,
      config,
      clock,
    });
    expect(notes).toContain('warn: could not upload the logs of the installation');
    expect(
      admin.writes.filter(({ verb, kind }) => `${verb} ${kind}` === 'create pods'),
    ).toHaveLength(2);
    expect(inventory.calls.at(-1)).toBe('clusterLogsState completed');
    expect(clock.now()).toBe(seconds(30));
  });

  it('backs off when gathering fails', async () => {
    const failing = Array.from({ length: 40 }, () => ({ phase: 'Failed', log: 'no' }) as const);
    const admin = withEndedPods(fakeKube(), ...failing);
    const clock = fakeClock();
    const times: number[] = [];
    const { create } = admin;
    Object.assign(admin, {
      create: (...args: Parameters<typeof create>) => {
        if (args[0].kind.plural === 'pods') times.push(clock.now());
        return create(...args);
      },
    });
    const run = { kube: kubeWith(), adminKube: admin, inventory: failed(), config };
    await tryInstallationStep(uploadFinalLogs, { ...run, clock });
    expect(times.map((at) => at / seconds(30))).toEqual([0, 1, 3, 7, 15, 31, 51, 71, 91, 111, 131]);
  });

  it('completes when the service does not list the operators', async () => {
    const inventory = fakeInventory({ cluster: { status: 'installed' } });
    inventory.failing('operators', away);
    await tryInstallationStep(uploadFinalLogs, { kube: kubeWith(), inventory });
    expect(logCalls(inventory)).toEqual(whole);
  });
});
