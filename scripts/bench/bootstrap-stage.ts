import { join } from 'node:path';
import { bundlePath } from '../bundle.ts';
import { followEvents, settingVariable } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHost } from '../../mocks/lab/single-host.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { start, type Watched } from './process.ts';

/** A bootstrap host whose agent has written its disk and waits for masters. */
export interface BootstrapStage extends AsyncDisposable {
  readonly host: SingleHost;
  readonly agent: Watched;
}

/** Starts an agent on a host that bootstraps the cluster of a kubeconfig, and waits until it waits. */
export async function openBootstrapStage(kubeconfig: string): Promise<BootstrapStage> {
  const host = await openSingleHost({
    role: 'bootstrap',
    isControlPlaneDone: false,
    write: { seconds: 2, flushSeconds: 0, lineMillis: 1000 },
    token: 'bench',
  });
  host.inventory.store.setKubeconfig(kubeconfig);
  const events = join(host.folder, 'events.jsonl');
  const agent = start([bundlePath, ...host.words, ...bootstrapWords], {
    ...host.environment,
    [settingVariable('images.self')]: 'registry.example.test/self:1',
    [settingVariable('log.events')]: events,
  });
  const close = async (): Promise<void> => {
    agent.stop();
    await agent.ended;
    await host[Symbol.asyncDispose]();
  };
  try {
    await waitsForMasters(agent, events);
  } catch (error) {
    await close();
    throw error;
  }
  return { host, agent, [Symbol.asyncDispose]: close };
}

const bootstrapWords: readonly string[] = [
  ...['--controller-image', 'registry.example.test/controller:1'],
  ...['--agent-image', 'registry.example.test/agent:1'],
  ...['--mco-image', 'registry.example.test/mco:1'],
  ...['--openshift-version', '4.20.1', '--control-plane-count', '3'],
];

/** Each of these is told when everything but the wait has been done. */
const signs: readonly ((event: RunEvent) => boolean)[] = [
  (event) => event.type === 'lane.finished' && event.lane === 'disk',
  (event) => event.type === 'lane.finished' && event.lane === 'control plane',
  (event) =>
    event.type === 'wait.updated' &&
    event.step === 'cluster/wait-for-masters' &&
    event.status.startsWith('0 of 2 masters ready'),
];

/** @throws Error when the agent ends before it waits */
async function waitsForMasters(agent: Watched, events: string): Promise<void> {
  const missing = new Set(signs);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const follower = followEvents(events, (event) => {
    for (const sign of missing) if (sign(event)) missing.delete(sign);
    if (missing.size === 0) resolve(undefined);
  });
  const ended = agent.ended.then(({ stderr }) => {
    throw new Error(`the agent does not wait for masters: ${stderr}`);
  });
  try {
    await Promise.race([promise, ended]);
  } finally {
    ended.catch(() => undefined);
    follower.end();
  }
}
