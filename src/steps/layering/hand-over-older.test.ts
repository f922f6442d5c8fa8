import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import { handOverTo } from '../../../test/layering/hand-over-run.ts';
import { byHost as by } from '../../../test/layering/hand-over-site.ts';
import { handOverStep, leftSite } from '../../../test/layering/left-site.ts';
import { leftImage, leftWorkers } from '../../../test/layering/left-images.ts';
import { runOperator } from '../../../test/layering/operator.ts';
import { type FakeClock, fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { jobs, machineOSBuilds, machineOSConfigs } from '../../cluster/kinds.ts';
import { seconds } from '../../model/duration.ts';
import { handOverToRollOut } from './hand-over.ts';

interface Older {
  readonly kube: FakeKube;
  readonly clock: FakeClock;
}

/** Runs something beside an operator of 4.20 or older, and for a while afterwards; gives what the operator did. */
async function besideOperator({ kube, clock }: Older, host: FakeHost, run: () => Promise<unknown>) {
  const over = new AbortController();
  const hasTag = (image: string): boolean =>
    host.ran.some((argv) => argv[1] === 'copy' && argv.at(-1) === `docker://${image}`);
  const site = { kube, clock, signal: over.signal, knowsPreBuilt: false, hasTag };
  const operator = runOperator(site);
  await run();
  await clock.sleep(seconds(30), over.signal);
  over.abort();
  return operator;
}

const older = (): Older => ({
  kube: bothSite.reduce((made, [kind, object]) => made.put(kind, object), fakeKube()),
  clock: fakeClock(),
});

const namesOf = (kube: FakeKube, kind = machineOSBuilds): readonly string[] =>
  kube.objectsOf(kind).map(({ metadata }) => metadata.name);

const builds = [leftImage.machineOSBuild, leftWorkers.machineOSBuild];

describe('a builder of 4.20 or older', () => {
  it.each([0, 3000])(
    'starts a job, which is removed, and finds each tag (%i ms)',
    async (takes) => {
      const { kube, clock } = older();
      const host = bothHost();
      const idle = new AbortController();
      host.on(['skopeo', 'copy', rest]).answers(async () => {
        await clock.sleep(takes, idle.signal);
        return {};
      });
      const facts = { ...bothFacts('after-join'), by };
      const done = await besideOperator({ kube, clock }, host, () =>
        runStep(handOverToRollOut, { ...handOverTo(kube, clock), facts, host }),
      );
      expect(done).toEqual([`start-job ${leftWorkers.machineOSBuild}`]);
      expect(namesOf(kube, jobs)).toEqual([]);
      expect(namesOf(kube)).toEqual(builds);
    },
  );

  it('starts one behind the hand-over by the job in the cluster, too', async () => {
    const site = leftSite();
    const images = [leftImage, leftWorkers];
    const over = new AbortController();
    const operator = runOperator({ ...site, signal: over.signal, knowsPreBuilt: false });
    await runStep(handOverStep(images), site);
    await site.clock.sleep(seconds(30), over.signal);
    over.abort();
    expect(await operator).toEqual([`start-job ${leftWorkers.machineOSBuild}`]);
    expect(namesOf(site.kube, jobs)).toEqual([]);
  });

  it('is given the MachineOSConfig alone where the registry takes no tag', async () => {
    const { kube, clock } = older();
    const host = bothHost();
    host.on(['skopeo', 'copy', rest]).fails(1, '', 'unauthorized');
    const facts = { ...bothFacts('after-join'), by };
    const { notes } = await runStep(handOverToRollOut, { ...handOverTo(kube, clock), facts, host });
    expect(namesOf(kube)).toEqual([]);
    expect(namesOf(kube, machineOSConfigs)).toEqual(['master', 'worker']);
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: the OS image of pool master is not used.*its tag is missing/),
    );
  });

  it('is given it alone by the job, too', async () => {
    const site = leftSite();
    await runStep(handOverStep([{ ...leftImage, isTagged: false }]), site);
    expect(namesOf(site.kube)).toEqual([]);
    expect(namesOf(site.kube, machineOSConfigs)).toEqual(['master']);
  });
});
