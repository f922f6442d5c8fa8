import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { type FakeInventory, fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { events as eventKind, pods } from '../../kube/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { minutes } from '../../model/duration.ts';
import { followControllerLogs, waitForController } from './controller.ts';

const config: ConfigInput = { role: 'bootstrap', service: { url: 'http://svc.example' } };
const facts = { controlPlane: { units: [] } };
const podName = 'assisted-installer-controller-x7k2p';

const pod = (phase = 'Running') => ({
  metadata: {
    name: podName,
    namespace: 'assisted-installer',
    labels: { 'job-name': 'assisted-installer-controller' },
  },
  status: { phase },
});
const event = (name: string, message = '') => ({
  metadata: { name, namespace: 'assisted-installer' },
  reason: 'Scheduled',
  message,
});
const ready = event('AssistedControllerIsReady', 'controller pod is ready');

const cluster = (log = 'it works\n') => fakeKube().put(pods, pod()).withPodLog(podName, log);

/** Name and text of the one file in the last uploaded archive. */
function lastArchive({ controllerLogs }: FakeInventory): readonly [string, string] {
  const tar = gunzipSync(controllerLogs.at(-1) ?? new Uint8Array());
  const text = (from: number, to: number) => tar.subarray(from, to).toString('utf8');
  const size = Number.parseInt(text(124, 135), 8);
  return [text(0, 100).replaceAll('\0', ''), text(512, 512 + size)];
}

/** Mode, time and format of that file. */
function lastHeader({ controllerLogs }: FakeInventory): Readonly<Record<string, string | number>> {
  const tar = gunzipSync(controllerLogs.at(-1) ?? new Uint8Array());
  const text = (from: number, to: number) => tar.subarray(from, to).toString('utf8');
  return {
    mode: text(100, 106),
    modifiedAt: Number.parseInt(text(136, 147), 8),
    magic: text(257, 262),
  };
}

describe('cluster/wait-for-controller', () => {
  it('finishes with the ready event, announces the logs and uploads them once', async () => {
    const clock = fakeClock();
    const inventory = fakeInventory();
    const kube = cluster().put(eventKind, ready);
    const { events } = await runStep(waitForController, { kube, inventory, clock, config, facts });
    expect(events[0]).toMatchObject({
      stage: 'Waiting for controller',
      stageInfo: 'waiting for controller pod ready event',
    });
    expect(inventory.calls).toEqual(['clusterLogsState requested', 'uploadControllerLogs']);
    expect(lastArchive(inventory)).toEqual(['assisted-installer-controller.logs', 'it works\n']);
    expect(lastHeader(inventory)).toEqual({ mode: '000644', modifiedAt: 0, magic: 'ustar' });
    expect(clock.now()).toBe(0);
  });

  it('notes each event once and waits for the ready event', async () => {
    const clock = fakeClock({ auto: false });
    const inventory = fakeInventory();
    const kube = cluster().put(eventKind, event('controller.17a', 'pulling image'));
    const run = runStep(waitForController, { kube, inventory, clock, config, facts });
    await settle();
    kube.put(eventKind, event('controller.17b'));
    await settle();
    expect(inventory.calls).toEqual([]);
    kube.put(eventKind, ready);
    const { notes, events } = await run;
    expect(notes).toEqual([
      'info: event controller.17a',
      'info: event controller.17b',
      'info: event AssistedControllerIsReady',
    ]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'wait.updated',
        status: 'events in assisted-installer, but no AssistedControllerIsReady yet',
      }),
    );
  });

  it('reports once that the image of the controller cannot be pulled', async () => {
    const kube = cluster();
    const waiting = (reason: string) => ({
      ...pod(),
      status: {
        phase: 'Pending',
        containerStatuses: [{ image: 'quay.test/c:1', state: { waiting: { reason } } }],
      },
    });
    kube.put(pods, waiting('ErrImagePull'));
    const run = runStep(waitForController, {
      kube,
      inventory: fakeInventory(),
      clock: fakeClock({ auto: false }),
      config,
      facts,
    });
    await settle();
    kube.put(eventKind, event('controller.17a', 'Failed to pull image "quay.test/c:1": denied'));
    kube.put(pods, waiting('ImagePullBackOff'));
    await settle();
    kube.put(eventKind, ready);
    const { events } = await run;
    const said = events.flatMap((one) => (one.type === 'wait.updated' ? [one.status] : []));
    expect(said.filter((status) => !status.includes('has not listed'))).toEqual([
      'the image of the controller cannot be pulled: quay.test/c:1',
    ]);
  });

  it.each([
    [74, false],
    [76, true],
  ])(
    'accepts a controller that has run for %i minutes without the event: %s',
    async (age, isEnough) => {
      const clock = fakeClock({ auto: false, start: Date.parse('2026-11-24T12:00:00Z') });
      const startedAt = new Date(clock.now() - minutes(age)).toISOString();
      const status = {
        phase: 'Running',
        containerStatuses: [{ state: { running: { startedAt } } }],
      };
      const kube = cluster().put(pods, { ...pod(), status });
      let isDone = false;
      const run = runStep(waitForController, {
        kube,
        clock,
        config,
        facts,
        inventory: fakeInventory(),
      }).then(() => {
        isDone = true;
      });
      await settle();
      expect(isDone).toBe(isEnough);
      await clock.advance(minutes(2));
      await run;
    },
  );

  it.each(['clusterLogsState', 'uploadControllerLogs'] as const)(
    'only warns when %s fails',
    async (call) => {
      const inventory = fakeInventory().failing(
        call,
        inventoryFailure('inventory.unreachable', 'service is down'),
      );
      const kube = cluster().put(eventKind, ready);
      const { notes } = await runStep(waitForController, { kube, inventory, config, facts });
      expect(notes.filter((note) => note.startsWith('warn'))).toHaveLength(1);
      expect(inventory.calls).toContain('uploadControllerLogs');
    },
  );

  it('waits for our own controller without a service and uploads no logs', async () => {
    const inventory = fakeInventory();
    const run = { kube: cluster().put(eventKind, ready), inventory, facts };
    const other: ConfigInput = { role: 'bootstrap', images: { self: 'quay.io/b:v1' } };
    const { events } = await runStep(waitForController, { ...run, config: other });
    expect(events.at(-1)?.type).toBe('step.finished');
    expect(inventory.calls).toEqual([]);
  });
});

/** Runs the follower for the given time and then stops it, as the role does at its end. */
async function followFor(
  run: Parameters<typeof tryStep<never, never, undefined>>[1],
  time: number,
) {
  const end = new AbortController();
  const clock = fakeClock({ auto: false });
  const followed = tryStep(followControllerLogs, {
    config,
    facts,
    ...run,
    clock,
    signal: end.signal,
  });
  await clock.advance(time);
  end.abort(new Error('the run has ended'));
  return followed;
}

describe('cluster/follow-controller-logs', () => {
  it('uploads the log every five minutes', async () => {
    const inventory = fakeInventory();
    await followFor({ kube: cluster(), inventory }, minutes(16));
    expect(inventory.calls).toHaveLength(3);
  });

  it.each([
    ['no pod', fakeKube()],
    ['a pending pod', fakeKube().put(pods, pod('Pending'))],
  ])('uploads nothing with %s', async (_, kube) => {
    const inventory = fakeInventory();
    const { notes } = await followFor({ kube, inventory }, minutes(6));
    expect([...inventory.calls, ...notes]).toEqual([]);
  });

  it.each([
    ['empty', cluster('')],
    ['not available', fakeKube().put(pods, pod())],
  ])('uploads the local log when that of the pod is %s', async (_, kube) => {
    const inventory = fakeInventory();
    const host = fakeHost().withFile('/tmp/controller_logs.log', 'from this host');
    await followFor({ kube, inventory, host }, minutes(6));
    expect(lastArchive(inventory)[1]).toBe('from this host');
  });

  it('uploads the errors when both logs are missing', async () => {
    const inventory = fakeInventory();
    await followFor({ kube: fakeKube().put(pods, pod()), inventory }, minutes(6));
    expect(lastArchive(inventory)[1]).toBe(
      `could not read the log of pod ${podName}: ${podName}: there is no log\n` +
        'could not read /tmp/controller_logs.log: it is not there\n',
    );
  });
});
