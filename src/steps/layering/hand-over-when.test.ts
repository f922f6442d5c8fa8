import { describe, expect, it } from 'vitest';
import {
  handOverFacts,
  handOverHost,
  site,
  stockFacts,
} from '../../../test/layering/hand-over-site.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { handOverServed, handOverToRollOut } from './hand-over-when.ts';

const config = { layering: { mode: 'on' } } as const;
const { order } = handOverFacts;
const none = { kind: 'off', why: 'no manifest' } as const;
const pinned = order.kind === 'off' ? order : { ...order, delivery: 'pinned' as const };
const rolledOut = order.kind === 'off' ? order : { ...order, delivery: 'after-join' as const };

describe.each([
  ['served', handOverFacts, [true, false]],
  ['rolled out by the cluster', { ...handOverFacts, order: rolledOut }, [false, true]],
  ['named by a MachineConfig', { ...handOverFacts, order: pinned }, [false, false]],
  [
    'to be named by a MachineConfig, and built by the cluster',
    { ...stockFacts, order: pinned },
    [false, true],
  ],
  ['built by the cluster', stockFacts, [false, true]],
  ['not ordered', { ...handOverFacts, order: none }, [false, false]],
] as const)('an image that is %s', (...[, facts, expected]) => {
  it.each([
    ['while the masters join', handOverServed, expected[0]],
    ['at last', handOverToRollOut, expected[1]],
  ] as const)('is handed over %s: %#', async (...[, step, isDone]) => {
    const kube = site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
    const run = { config, facts, kube, host: handOverHost(), clock: fakeClock() };
    await runStep(step, run);
    expect(kube.writes.length > 0).toBe(isDone);
  });
});
