import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../src/adapters/clock.ts';
import { kubeCluster } from '../../src/adapters/kube/kube.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { certificateSigningRequests, nodes } from '../../src/cluster/kinds.ts';
import { Config } from '../../src/config/schema.ts';
import { installationControllers } from '../../src/controllers/installation/controllers.ts';
import { minutes } from '../../src/model/duration.ts';
import { startControllers } from '../../src/reconcile/manager.ts';
import { makeCertificates } from '../../test/contract/real/http-server.ts';
import { kubeconfigFor } from '../../test/contract/real/kube-stand.ts';
import { nodeObject } from '../../test/support/cluster-objects.ts';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { fakeInventory, installingHost } from '../../test/support/fake-inventory.ts';
import { fakeKube } from '../../test/support/fake-kube.ts';
import {
  alternativeNames,
  pkcs10,
  signingRequestObject,
} from '../../test/support/kubelet-request.ts';
import { type Findings, found } from './figure.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What is resident, and what of it is the heap, in MiB; after all garbage is collected. */
async function used(): Promise<{ readonly resident: number; readonly heap: number }> {
  for (let round = 0; round < 5; round += 1) {
    collect();
    await turn();
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { resident: rss / 1024 ** 2, heap: heapUsed / 1024 ** 2 };
}

/** What keeps growing in a controller that runs for long. */
export async function measureLeaks(): Promise<Findings> {
  const rotated = 'resident memory that 1,000 rotations of token and CA add to 1,000';
  return found([
    [rotated, 'MiB', await rotations(), 16],
    ['heap that 20 hours of events add to four', 'MiB', await hoursOfEvents(), 2],
  ]);
}

/** Refuses each token after its first use, so that the next one is looked for, and the same CA in another text. */
async function rotations(): Promise<number> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-leaks-'));
  const { ca, key, cert } = makeCertificates(folder.path);
  let rotation = 0;
  const server = createServer({ key, cert }, ({ headers }, response) => {
    const isNew = headers.authorization === `Bearer ${rotation}`;
    response.writeHead(isNew ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isNew ? { metadata: { name: 'm0' } } : { code: 401 }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kube = kubeCluster({
    credentials: () => {
      const authority = Buffer.from(`${ca}# ${rotation}\n`).toString('base64');
      const cluster = { 'certificate-authority-data': authority };
      return Promise.resolve(kubeconfigFor(url, { cluster, user: { token: `${rotation}` } }));
    },
    // Pauses between two attempts are not waited for, limits are.
    clock: {
      ...systemClock,
      sleep: (time, signal) => (time > 1000 ? systemClock.sleep(time, signal) : turn()),
    },
    ...{ random: systemRandom, emit: () => undefined },
  });
  const rotate = async (): Promise<void> => {
    rotation += 1;
    await kube.get({ kind: nodes, name: 'm0' }, new AbortController().signal);
  };
  try {
    // Until then the allocator of the C library spreads: it keeps the contexts of TLS apart, and reuses them.
    while (rotation < 1000) await rotate();
    const before = await used();
    while (rotation < 2000) await rotate();
    return (await used()).resident - before.resident;
  } finally {
    await kube.close();
    server.closeAllConnections();
    server.close();
  }
}

/** Each minute a request comes, one of an hour ago goes, a node changes, and the service answers. */
async function hoursOfEvents(): Promise<number> {
  const [clock, kube, stop] = [fakeClock({ auto: false }), fakeKube(), new AbortController()];
  const host = { id: 'h', name: 'm0', addresses: ['192.0.2.7'] };
  const inventory = fakeInventory({ hosts: [installingHost(host)] });
  const [serving, stranger] = await Promise.all([
    pkcs10({
      subject: 'O=system:nodes, CN=system:node:m0',
      names: alternativeNames('m0', '192.0.2.7'),
    }),
    pkcs10({ subject: 'O=system:nodes, CN=system:node:stranger' }),
  ]);
  const emit = (): void => undefined;
  const ports = { clock, kube, inventory, adminKube: kube, emit };
  const config = { ...Config.parse({}), namespace: 'assisted-installer' };
  const cluster = { isAgentBased: false, platform: 'baremetal', serviceNetworks: [] };
  const controllers = installationControllers({ ...ports, config }, cluster);
  const ended = startControllers(
    { ...ports, random: systemRandom, signal: stop.signal },
    { name: 'controller', controllers: controllers.filter(({ id }) => id.endsWith('-requests')) },
  ).catch(() => undefined);
  const hour = async (since: number): Promise<void> => {
    for (let minute = since * 60; minute < since * 60 + 60; minute += 1) {
      const own = { name: `own-${minute}`, spec: { username: 'system:node:m0' } };
      kube.put(certificateSigningRequests, signingRequestObject('serving', serving, own));
      const other = { name: `stranger-${minute}` };
      kube.put(certificateSigningRequests, signingRequestObject('client', stranger, other));
      for (const name of [`own-${minute - 60}`, `stranger-${minute - 60}`]) {
        kube.drop({ kind: certificateSigningRequests, name });
      }
      kube.put(
        nodes,
        nodeObject({ name: 'm0', addresses: ['192.0.2.7', `192.0.2.${minute % 200}`] }),
      );
      inventory.set({ hosts: [installingHost({ ...host, stage: `${minute}` as 'Done' })] });
      await clock.advance(minutes(1));
      // What the fake keeps for tests.
      (kube.writes as unknown[]).length = 0;
    }
  };
  for (let since = 0; since < 4; since += 1) await hour(since);
  const before = await used();
  for (let since = 4; since < 24; since += 1) await hour(since);
  const after = await used();
  stop.abort(new Error('the day is over'));
  await ended;
  return after.heap - before.heap;
}
