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
import { isSafeToRepeat, runStep } from '../../../test/support/run-step.ts';
import { configMaps, machineOSConfigs, secrets } from '../../cluster/kinds.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { readRecord } from '../cluster/left-record.ts';
import { leaveHandOver } from './hand-over.ts';

const { request } = handOverFacts;
const ordered = (delivery: 'first-boot' | 'after-join', facts = handOverFacts) => ({
  ...facts,
  request: request.kind === 'off' ? request : { ...request, delivery },
});

const self = 'quay.io/b:v1';
const run = (facts = ordered('after-join'), controller = self) => ({
  config: {
    role: 'bootstrap',
    service: { url: 'http://svc.example' },
    cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.20.1' },
    layering: { mode: 'on' },
    images: { self, controller },
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
  it('leaves an image that the cluster rolls out to the controller', async () => {
    const made = run();
    const { value } = await runStep(leaveHandOver, made);
    expect(value).toEqual({ kind: 'controller' });
    expect(recorded(made)).toEqual([[leftImage]]);
  });

  it('leaves the images of masters and workers to it', async () => {
    const made = {
      ...run(bothFacts('after-join')),
      kube: bothSite.reduce((kube, [kind, object]) => kube.put(kind, object), fakeKube()),
      host: bothHost(),
    };
    await runStep(leaveHandOver, made);
    expect(recorded(made)).toEqual([[leftImage, leftWorkers]]);
  });

  it('leaves it to the controller to let the cluster build where the registry takes no tag', async () => {
    const made = run();
    made.host.on(['skopeo', 'copy', rest]).fails(1, '', 'unauthorized');
    await runStep(leaveHandOver, made);
    expect(recorded(made)).toEqual([[{ ...leftImage, isTagged: false }]]);
  });

  it('gives the image its tag and the cluster its Secret, and starts nothing', async () => {
    const made = run();
    await runStep(leaveHandOver, made);
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
  ])('leaves a record without images when %s', async (_, facts) => {
    const made = run(facts);
    const { value } = await runStep(leaveHandOver, made);
    expect(value).toEqual({ kind: 'host', why: 'there is nothing to hand over' });
    expect(recorded(made)).toEqual([[]]);
  });

  it('leaves nothing for another controller, and names both', async () => {
    const made = run(ordered('after-join'), 'quay.io/other:v2');
    const { value } = await runStep(leaveHandOver, made);
    expect(value).toEqual({
      kind: 'host',
      why: 'the controller is quay.io/other:v2, and not this program, quay.io/b:v1',
    });
    expect(made.kube.writes).toEqual([]);
  });

  it('hands over itself where it has no name for the record', async () => {
    const made = { ...run(), inventory: fakeInventory({ hosts: [] }) };
    const { value } = await runStep(leaveHandOver, made);
    expect(value).toEqual({ kind: 'host', why: 'could not write the record ConfigMap' });
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(leaveHandOver, () => {
      const made = run();
      return { ...made, world: () => recorded(made) };
    });
  });
});
