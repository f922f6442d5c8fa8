import { describe, expect, it } from 'vitest';
import { publishedFor } from '../../../test/layering/lane-facts.ts';
import {
  layeredCluster,
  type LayeredPool,
  masterBuild,
  masterImage,
  masterRendered,
} from '../../../test/layering/layered-pool.ts';
import { servedIgnition } from '../../../test/layering/served.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { webFailure } from '../../adapters/http/failures.ts';
import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../kube/kinds.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { waitForLayeredMasters, checkServedConfig } from './gates.ts';

describe('layering/wait-for-masters', () => {
  const address = '10.0.0.1:5000';
  const config = { role: 'bootstrap', layering: { mode: 'on' } } as const;
  const facts = {
    controlPlane: { units: [] },
    published: publishedFor(['master'], { rendered: masterRendered, final: masterImage }),
    registry: { kind: 'running' as const, address, certificates: '', authFile: '' },
  };

  function put(kube: FakeKube, change: LayeredPool = {}): FakeKube {
    const cluster = layeredCluster(change);
    const parts = [
      [nodes, cluster.nodes],
      [machineConfigPools, cluster.pools],
      [machineOSConfigs, cluster.osConfigs],
      [machineOSBuilds, cluster.builds],
    ] as const;
    for (const [kind, objects] of parts) for (const object of objects) kube.put(kind, object);
    return kube;
  }

  const reported = (events: readonly { readonly type: string }[]): readonly unknown[] =>
    events.flatMap((event) => ('status' in event ? [event.status] : []));

  it('retries while the API server denies the list', async () => {
    const cluster = put(fakeKube());
    let refused = 0;
    const list: FakeKube['list'] = (...args) => {
      if (refused === 2) return cluster.list(...args);
      refused += 1;
      return Promise.reject(kubeFailure('kube.denied', 'GET /api/v1/nodes answered 401'));
    };
    const clock = fakeClock();
    const kube = { ...cluster, list };
    const { events } = await runStep(waitForLayeredMasters, { config, facts, clock, kube });
    expect(reported(events)).toContain('objects cannot be read yet (kube.denied)');
    expect(clock.now()).toBe(30_000);
  });

  it('finishes when the pool has settled on the image with a later MachineConfig', async () => {
    const later = `rendered-master-${'7'.repeat(32)}`;
    const [build] = layeredCluster().builds;
    const spec = { ...(build?.['spec'] as object), machineConfig: { name: later } };
    const kube = put(fakeKube(), {
      pool: { configuration: { name: later, source: [] } },
      node: { currentConfig: later, desiredConfig: later },
      build: { spec },
    });
    const { events } = await runStep(waitForLayeredMasters, {
      config,
      facts,
      clock: fakeClock(),
      kube,
    });
    expect(reported(events)).toEqual([]);
  });

  it('reports the first violated invariant and continues as soon as all hold', async () => {
    const clock = fakeClock({ auto: false });
    const kube = fakeKube();
    const done = runStep(waitForLayeredMasters, { config, facts, clock, kube });
    await settle();
    const job = `build-${masterBuild}`;
    kube.put(jobs, { metadata: { name: job, namespace: operatorNamespace } });
    put(kube, { node: { desiredImage: undefined }, conditions: { Updating: 'True' } });
    await settle();
    put(kube);
    await settle();
    kube.drop({ kind: jobs, name: job, namespace: operatorNamespace });
    const { events } = await done;
    expect(reported(events).slice(0, 1)).toEqual(['there is no master node yet']);
    expect(reported(events)).toContain(
      `I2: node m1 desiredImage is not there, expected ${masterImage}; also I7`,
    );
    expect(reported(events).at(-1)).toBe(`I7: build jobs is ${job}, expected none`);
    expect(clock.now()).toBe(0);
  });

  it('does not wait for nodes without a master image, but checks for staging references', async () => {
    const kube = fakeKube();
    const published = publishedFor(['worker']);
    const run = { config, facts: { ...facts, published }, kube };
    const { notes } = await runStep(waitForLayeredMasters, run);
    expect(notes).toEqual([expect.stringContaining('not waiting for nodes')]);
    kube.put(machineConfigs, { metadata: { name: 'x' }, spec: { osImageURL: `${address}/x` } });
    const { failure } = await tryStep(waitForLayeredMasters, run);
    expect(failure).toMatchObject({ code: 'layering.staging-referenced' });
  });

  it('checks for staging references after the masters run their image', async () => {
    const kube = put(fakeKube());
    kube.put(machineConfigs, { metadata: { name: 'x' }, spec: { osImageURL: `${address}/x` } });
    const run = { config, facts, clock: fakeClock(), kube };
    const { failure } = await tryStep(waitForLayeredMasters, run);
    expect(failure).toMatchObject({ code: 'layering.staging-referenced' });
  });

  it('waits for the arbiter too', async () => {
    const [arbiter] = publishedFor(['arbiter'], { final: 'other' }).pools;
    const published = { ...facts.published, pools: [...facts.published.pools, arbiter!] };
    const kube = put(fakeKube());
    const clock = fakeClock();
    const run = { config, facts: { ...facts, published } };
    const { failure } = await tryStep(waitForLayeredMasters, { ...run, kube, clock });
    expect(failure).toMatchObject({
      code: 'wait.timed-out',
      message: expect.stringContaining('I3: MachineOSBuild image is not there') as string,
    });
  });
});

describe('layering/check-served-config', () => {
  const path = '/opt/install-dir/master-h.ign';
  const url = 'http://api-int.example:22624/config/master';
  const pointerTo = (source: string): string =>
    JSON.stringify({ ignition: { version: '3.2.0', config: { merge: [{ source }] } } });
  const embedded = (text: string): string =>
    pointerTo(`data:;base64,${Buffer.from(text).toString('base64')}`);

  const facts = {
    published: publishedFor(['master'], { rendered: masterRendered, final: masterImage }),
    ignition: { path, bytes: 1, sha256: '', origin: '', version: '3.2.0' },
  };
  const config = { role: 'bootstrap', layering: { mode: 'on' } } as const;

  const releaseImage = servedIgnition({ rendered: masterRendered, osImage: 'stock' });
  const built = servedIgnition({
    rendered: masterRendered,
    osImage: masterImage,
    image: masterImage,
  });

  const setting = (ignition: string, web = fakeWeb()) => ({
    config,
    facts,
    web,
    clock: fakeClock(),
    host: fakeHost().withFile(path, ignition),
  });

  it('fetches the config from the server in the pointer as Ignition spec 3', async () => {
    const web = fakeWeb().with(url, built);
    await runStep(checkServedConfig, setting(pointerTo(url), web));
    expect(web.opened).toMatchObject([
      { url, accept: 'application/vnd.coreos.ignition+json; version=3.4.0' },
    ]);
  });

  it('waits until the server is up and serves the built image', async () => {
    const web = fakeWeb()
      .with(url, releaseImage)
      .failing(url, webFailure('web.refused', `${url} answered 500`), 1);
    const run = setting(pointerTo(url), web);
    const polls = web.opened;
    const open: typeof web.open = (...call) => {
      if (polls.length === 2) web.with(url, built);
      return web.open(...call);
    };
    const { events } = await runStep(checkServedConfig, { ...run, web: { ...web, open } });
    const reported = events.flatMap((event) =>
      event.type === 'wait.updated' ? [event.status] : [],
    );
    expect(reported).toEqual([
      `${url} answered 500`,
      `osImageURL is stock, currentImage is not set, desiredImage is not set instead of ${masterImage}`,
    ]);
  });

  it('fails after 20 minutes with another image', async () => {
    const run = setting(pointerTo(url), fakeWeb().with(url, releaseImage));
    const { failure } = await tryStep(checkServedConfig, run);
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(run.clock.now()).toBe(minutes(20));
  });

  it('reads an embedded config without a request', async () => {
    const run = setting(embedded(built));
    await runStep(checkServedConfig, run);
    expect(run.web.opened).toEqual([]);
    expect(run.clock.now()).toBe(0);
  });

  it.each([
    ['a missing Ignition file', fakeHost(), 'image.file-missing'],
    [
      'an embedded config without a MachineConfig',
      fakeHost().withFile(path, embedded('{}')),
      'ignition.encapsulated-missing',
    ],
    [
      'an embedded config of the release',
      fakeHost().withFile(path, embedded(releaseImage)),
      'layering.other-image-served',
    ],
  ])('does not wait for %s', async (_, host, code) => {
    const { failure } = await tryStep(checkServedConfig, { ...setting(''), host });
    expect(failure).toMatchObject({ code });
  });
});
