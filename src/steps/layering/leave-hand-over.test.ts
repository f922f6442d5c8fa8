import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import {
  final,
  handOverFacts,
  handOverHost,
  operator,
  site,
  fallbackFacts,
} from '../../../test/layering/hand-over-site.ts';
import { leftImage, leftWorkers } from '../../../test/layering/left-images.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { configMaps, jobs, machineOSConfigs, secrets } from '../../cluster/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { readRecord } from '../after-pivot/record.ts';
import { createHandOverJob } from './hand-over.ts';

const { request } = handOverFacts;
const ordered = (delivery: 'first-boot' | 'after-join', facts = handOverFacts) => ({
  ...facts,
  request: request.kind === 'off' ? request : { ...request, delivery },
});

const run = (facts = ordered('after-join'), followUp: 'auto' | 'always' | 'never' = 'auto') => ({
  config: {
    role: 'bootstrap',
    service: { url: 'http://svc.example' },
    cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.20.1' },
    layering: { mode: 'on' },
    images: { self: 'quay.io/b:v1' },
    bootstrap: { followUp },
  } satisfies ConfigInput,
  facts,
  kube: site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube()),
  host: handOverHost(),
  clock: fakeClock(),
  inventory: fakeInventory({ hosts: [inventoryHost({ id: 'h0', name: 'm0' })] }),
});
const recorded = ({ kube }: ReturnType<typeof run>) =>
  kube.objectsOf(configMaps).map((object) => readRecord(object).images);

describe('layering/leave-hand-over', () => {
  it('leaves an image that the cluster rolls out to the job', async () => {
    const made = run();
    const { value } = await runStep(createHandOverJob, made);
    expect(value).toEqual({ kind: 'job' });
    expect(recorded(made)).toEqual([[leftImage]]);
    expect(made.kube.objectsOf(jobs)).toHaveLength(1);
  });

  it('leaves the images of masters and workers to it', async () => {
    const made = {
      ...run(bothFacts('after-join')),
      kube: bothSite.reduce((kube, [kind, object]) => kube.put(kind, object), fakeKube()),
      host: bothHost(),
    };
    await runStep(createHandOverJob, made);
    expect(recorded(made)).toEqual([[leftImage, leftWorkers]]);
  });

  it('leaves it to the job to let the cluster build where the registry takes no tag', async () => {
    const made = run();
    made.host.on(['skopeo', 'copy', rest]).fails(1, '', 'unauthorized');
    await runStep(createHandOverJob, made);
    expect(recorded(made)).toEqual([[{ ...leftImage, isTagged: false }]]);
  });

  it('gives the image its tag and the cluster its Secret, and starts nothing', async () => {
    const made = run();
    await runStep(createHandOverJob, made);
    const copies = made.host.ran.filter(([, verb]) => verb === 'copy').map((argv) => argv.at(-1));
    expect(copies).toEqual([`docker://${final.replace(/@.*/, '')}:${leftImage.machineOSBuild}`]);
    expect(made.kube.objectsOf(secrets).map(({ metadata }) => metadata.namespace)).toEqual([
      operator,
    ]);
    expect(made.kube.objectsOf(machineOSConfigs)).toEqual([]);
  });

  it.each([
    ['nodes are served their OS image', ordered('first-boot')],
    ['nothing could be built', ordered('after-join', fallbackFacts)],
    ['nothing is ordered', { ...handOverFacts, request: { kind: 'off', why: 'none' } as const }],
  ])('leaves a job without images when %s', async (_, facts) => {
    const made = run(facts);
    const { value } = await runStep(createHandOverJob, made);
    expect(value).toEqual({ kind: 'host', why: 'there is nothing to hand over' });
    expect(recorded(made)).toEqual([[]]);
  });

  it('leaves nothing when nothing is to follow the host', async () => {
    const made = run(ordered('after-join'), 'never');
    const { value } = await runStep(createHandOverJob, made);
    expect(value).toMatchObject({ kind: 'host' });
    expect(made.kube.writes).toEqual([]);
  });

  it.each([
    ['auto', { value: { kind: 'host', why: 'no record of this host could be left' } }],
    ['always', { failure: { code: 'after-pivot.not-left' } }],
  ] as const)('with %s, when the host has no name, ends so', async (followUp, end) => {
    const made = run(ordered('after-join'), followUp);
    expect(
      await tryStep(createHandOverJob, { ...made, inventory: fakeInventory({ hosts: [] }) }),
    ).toMatchObject(end);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(createHandOverJob, () => {
      const made = run();
      return { ...made, world: () => recorded(made) };
    });
  });
});
