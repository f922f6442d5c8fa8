import { describe, expect, it } from 'vitest';
import {
  byHost as by,
  handOverFacts,
  handOverHost,
  site,
  fallbackFacts,
} from '../../../test/layering/hand-over-site.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { handOverServed, handOverToRollOut } from './hand-over.ts';

const config = { layering: { mode: 'on' } } as const;
const { request } = handOverFacts;
const none = { kind: 'off', why: 'no manifest' } as const;
const byJob = { kind: 'controller' } as const;
const rolledOut = {
  ...handOverFacts,
  request: request.kind === 'off' ? request : { ...request, delivery: 'after-join' as const },
};

describe.each([
  ['served', { ...handOverFacts, by }, [true, false]],
  ['rolled out by the cluster', { ...rolledOut, by }, [false, true]],
  ['rolled out, and handed over by a job', { ...rolledOut, by: byJob }, [false, false]],
  ['built by the cluster', { ...fallbackFacts, by }, [false, true]],
  ['not ordered', { ...handOverFacts, request: none, by }, [false, false]],
] as const)('an image that is %s', (...[, facts, [isEarly, isLate]]) => {
  const settings = () => ({
    kube: site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube()),
    ...{ config, facts, host: handOverHost(), clock: fakeClock() },
  });

  it(`is handed over while the masters join: ${String(isEarly)}`, async () => {
    const run = settings();
    await runStep(handOverServed, run);
    expect(run.kube.writes.length > 0).toBe(isEarly);
  });

  it(`is handed over at last: ${String(isLate)}`, async () => {
    const run = settings();
    await runStep(handOverToRollOut, run);
    expect(run.kube.writes.length > 0).toBe(isLate);
  });
});
