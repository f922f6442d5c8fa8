import { describe, expect, it } from 'vitest';
import { noOrder, orderFor, renderedFor } from '../../../test/layering/lane-facts.ts';
import {
  pinnedName,
  poolText,
  releaseImage,
  renderedText,
} from '../../../test/layering/rendered.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import {
  controllerPod,
  heldControllerConfig,
  poolFile,
  renderedFile,
} from '../../layering/delivery/bootstrap-files.ts';
import { pinPath } from '../../layering/delivery/pin.ts';
import { pinImages } from './pin-images.ts';

const config = {
  cluster: { openshiftVersion: '4.20.1' },
  layering: { olderReleases: 'pin' },
} as const;
const pools = ['master', 'worker'];
const digest = `sha256:${'f'.repeat(64)}`;
const finalOf = (pool: string): string => `registry.example.com/ocl/${pool}@${digest}`;
const published = {
  kind: 'published' as const,
  images: pools.map((pool) => ({
    pool,
    renderedConfig: renderedFor(pool).name,
    staged: `127.0.0.1:22626/ocl/${pool}@${digest}`,
    digest,
    final: finalOf(pool),
  })),
};
const facts = { order: orderFor(pools, 'pinned'), published };
const pod = 'kind: Pod\nmetadata: {name: bootstrap-machine-config-operator}\n';

/** A host that holds its server back; its kubelet starts nothing by itself. */
const heldHost = (): FakeHost =>
  fakeHost()
    .on(['busctl', rest])
    .isMissing()
    .withFile(controllerPod, pod)
    .withFile(heldControllerConfig, 'kind: ControllerConfig\n');

/** What the controller and the hold do when the pod is made anew. */
function render(host: FakeHost, imageOf = finalOf): void {
  for (const pool of pools) {
    const name = pinnedName(pool);
    host
      .withFile(poolFile(pool), poolText(pool, name))
      .withFile(renderedFile(name), renderedText(pool, { name, image: imageOf(pool) }));
  }
  host.withFile(heldControllerConfig, 'kind: ControllerConfig\n');
}

const pinned = pools.map((pool) => ({
  pool,
  name: pinnedName(pool),
  file: renderedFile(pinnedName(pool)),
  osImage: finalOf(pool),
}));

describe('layering/pin-images', () => {
  it('has all rendered anew with a MachineConfig for each image, and tells the new names', async () => {
    const host = heldHost();
    const run = runStep(pinImages, { host, config, facts, clock: fakeClock({ auto: false }) });
    await settle();
    expect(host.textOf(heldControllerConfig)).toBeUndefined();
    expect(host.textOf(controllerPod)).toContain('bootwright.io/rendered-with');
    for (const pool of pools) expect(host.textOf(pinPath(pool))).toContain(finalOf(pool));
    render(host);
    expect((await run).value).toEqual(pinned);
  });

  it('waits for what an earlier run has begun, and begins nothing again', async () => {
    const host = heldHost();
    const first = runStep(pinImages, { host, config, facts, clock: fakeClock({ auto: false }) });
    await settle();
    render(host);
    await first;
    const text = host.textOf(controllerPod);
    const { value } = await runStep(pinImages, { host, config, facts });
    expect(value).toEqual(pinned);
    expect(host.textOf(controllerPod)).toBe(text);
    expect(host.textOf(heldControllerConfig)).toBeDefined();
  });

  it('fails where another MachineConfig names another system', async () => {
    const host = heldHost();
    const run = tryStep(pinImages, { host, config, facts, clock: fakeClock({ auto: false }) });
    await settle();
    render(host, () => releaseImage);
    expect((await run).failure).toMatchObject({
      code: 'layering.not-rendered',
      message: expect.stringContaining(releaseImage) as string,
    });
  });

  it('fails without the pod that renders', async () => {
    const { failure } = await tryStep(pinImages, { host: fakeHost(), config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-rendered' });
  });

  it.each([
    ['nothing is ordered', { ...facts, order: noOrder }],
    ['nodes trust their Ignition', { ...facts, order: orderFor(pools) }],
    ['the operator rolls out', { ...facts, order: orderFor(pools, 'after-join') }],
    ['there is no image', { ...facts, published: { kind: 'stock' as const, why: 'it failed' } }],
  ])('leaves all as it is where %s', async (...[, given]) => {
    const host = heldHost();
    const { value } = await runStep(pinImages, { host, config, facts: given });
    expect(value).toEqual([]);
    expect(host.textOf(controllerPod)).toBe(pod);
    expect(host.textOf(heldControllerConfig)).toBeDefined();
  });
});
