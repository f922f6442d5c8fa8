// The real agent, started as the Ignition of its config says, against the inventory of the bootstrap provider.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost } from '../../mocks/lab/single-host.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { serveRoutes } from '../../src/adapters/route-server.ts';
import { type BootstrapConfig, bootstrapConfigs } from '../../src/capi/api.ts';
import { findCondition } from '../../src/capi/conditions.ts';
import { inventoryRoutes } from '../../src/capi/inventory/routes.ts';
import { secrets } from '../../src/cluster/kinds.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { readFileContent } from '../../src/ignition/resource.ts';
import { textAt } from '../../src/layering/api/cluster-object.ts';
import { putCluster, putHost, putSecret, runBootstrap } from '../support/capi-cluster.ts';
import { fakeKube, type FakeKube } from '../support/fake-kube.ts';
import { bundle } from './faulty-run.ts';

/** Resolves as soon as the view of the config says so. */
async function until(kube: FakeKube, is: (config: BootstrapConfig) => boolean): Promise<void> {
  const seen = new AbortController();
  const { signal } = seen;
  await kube.follow(
    { kind: bootstrapConfigs },
    ({ objects }) => {
      if (objects.some((one) => is(one as BootstrapConfig))) setImmediate(() => seen.abort());
    },
    signal,
  );
}

const running = {
  initialization: { controlPlaneInitialized: true },
  conditions: [
    { type: 'ConfigServerAvailable', status: 'True', reason: 'x', lastTransitionTime: '' },
  ],
};

/** What podman would start, with the files of the live system in a folder of ours. */
async function agentWords(kube: FakeKube, folder: string, url: string): Promise<readonly string[]> {
  const secret = kube.objectsOf(secrets).find(({ metadata }) => metadata.name === 'h');
  const { config } = parseValidConfig(Buffer.from(textAt(secret, 'data', 'value'), 'base64'));
  const token = readFileContent(config, '/etc/bootwright/token');
  await writeFile(join(folder, 'token'), token, { mode: 0o600 });
  const unit = config.systemd?.units?.[0]?.contents ?? '';
  const [, words = ''] = /^ExecStart=.* r\.test\/agent@sha256:2 (.*)$/m.exec(unit) ?? [];
  return words
    .replaceAll('/etc/bootwright/', `${folder}/`)
    .replace('https://inventory.test:8443', url)
    .replace(/ --cacert \S+/, '')
    .split(' ');
}

describe('an agent', () => {
  it.each(['master', 'worker'] as const)(
    'of a %s is installed by the inventory of Cluster API',
    async (role) => {
      await using host = await openSingleHost({
        ...{ role, isControlPlaneDone: true, token: '' },
        write: { seconds: 0.3, flushSeconds: 0, lineMillis: 20 },
      });
      const kube = fakeKube();
      const ignition = '{"ignition":{"version":"3.2.0"}}';
      putSecret(kube, 'plane-install-assets', { 'master.ign': ignition, 'worker.ign': ignition });
      putCluster(kube);
      putHost(kube, 'h', { role, spec: { installDevice: '/dev/sda' } });
      await using ends = new AsyncDisposableStack();
      const stop = new AbortController();
      ends.defer(() => stop.abort(new Error('the test has ended')));
      const ports = { kube, clock: systemClock, random: systemRandom };
      const { stores } = runBootstrap(ports, stop.signal);
      await until(kube, ({ status }) => status?.ready === true);
      const listen = { host: '127.0.0.1', port: 0 };
      const routes = inventoryRoutes({ ...ports, stores });
      const server = await serveRoutes({ listen, routes }, () => undefined);
      ends.defer(server.close);
      const stages: string[] = [];
      const following = until(kube, ({ status }) => {
        const { stage = '' } = status?.progress ?? {};
        if (stage !== '' && stages.at(-1) !== stage) stages.push(stage);
        return stage === 'Rebooting' || stage === 'Failed';
      });
      const logFile = join(host.folder, 'agent.log');
      const agent = startAgent({
        ...{ bundle, logFile, args: await agentWords(kube, host.folder, server.url) },
        env: {
          PATH: host.environment['PATH'] ?? '',
          BOOTWRIGHT_HOST_ROOT: join(host.folder, 'root'),
        },
      });
      if (role === 'worker') {
        await until(
          kube,
          ({ status }) => status?.progress?.message?.includes('not initialized') === true,
        );
        putCluster(kube, { plane: running });
      }
      const { exitCode } = await agent.ended;
      await following;
      expect([exitCode, stages], readFileSync(logFile, 'utf8')).toEqual([
        0,
        expect.arrayContaining(['Installing', 'Writing image to disk', 'Rebooting']),
      ]);
      const [config] = kube.objectsOf(bootstrapConfigs) as readonly BootstrapConfig[];
      expect(config?.status?.progress?.attempt).toBe(1);
      expect(findCondition(config?.status?.conditions, 'Ready')?.reason).toBe('Rebooting');
      const written = readFileSync(
        join(host.folder, 'root/opt/install-dir', `${role}-config-h.ign`),
        'utf8',
      );
      expect(written).toBe(ignition);
    },
  );
});
