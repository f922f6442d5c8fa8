import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentBase } from '../../scripts/parts/agent-base.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { imageRegistry, osImage, qemu } from '../../scripts/parts/scripted.ts';
import { clusterParts } from '../../scripts/api-server.ts';
import { linesOf } from './install/report-lines.ts';
import { isAway, type SeenNode } from './nodes/pool-record.ts';
import { back, held, type RollOut, rollOutToGuests, waitsFor } from './nodes/roll-out.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

let folder: TestFolder;
let rollOut: RollOut;

beforeAll(async () => {
  await ensureParts([osDisk, qemu, agentBase(), osImage, imageRegistry, ...clusterParts]);
  folder = createTestFolder('nodes');
  rollOut = await rollOutToGuests(folder.path);
});

afterAll(() => {
  folder[Symbol.dispose]();
});

/** The history of a node without repetitions. */
const historyOf = <T>(name: string, of: (node: SeenNode) => T): readonly T[] =>
  rollOut.moments
    .flatMap((moment) => moment.filter((node) => node.name === name).map(of))
    .filter((value, index, all) => value !== all[index - 1]);

const layersOf = (name: string): readonly (readonly string[])[] =>
  (rollOut.said[name] ?? []).map((report) => linesOf(report, 'layers'));

describe('two nodes whose pool gets another image', () => {
  it('switch one at a time', () => {
    const away = rollOut.moments.map((moment) =>
      moment.filter((node) => isAway(node)).map(({ name }) => name),
    );
    expect(away.filter((names) => names.length > 1)).toEqual([]);
    const order = away.flat().filter((name, index, all) => name !== all[index - 1]);
    expect(order.slice(0, 2)).toEqual([held, back]);
  });

  it('wait for a disruption budget and name it', () => {
    const text = 'drain blocked: pod default/kept by budget default/kept';
    expect(waitsFor(rollOut.held, held)).toBe(text);
    expect(waitsFor(rollOut.held, back)).toBe(`maxUnavailable 1: first ${held}`);
    expect(rollOut.held.actions.join()).toContain(`let ${held} be drained`);
  });

  it('complete after a power cut during shutdown with one more reboot', () => {
    expect(layersOf(held)).toEqual([[''], [''], ['second']]);
    expect(historyOf(held, ({ state }) => state)).toEqual(['Done', 'Working', 'Done']);
    const ready = historyOf(held, ({ isReady }) => isReady);
    expect(ready).toEqual([true, false, true, false, true]);
  });

  it('are degraded when they boot the old image, and stop the roll-out', () => {
    expect(layersOf(back)).toEqual([[''], ['']]);
    const reason = /^node-agent\.came-back: .*the host runs \S+ instead of \S+/;
    const reasons = historyOf(back, (node) => node.reason);
    expect(reasons.find((one) => one !== '')).toMatch(reason);
    expect(waitsFor(rollOut.fellBack, back)).toMatch(reason);
    expect(rollOut.fellBack.actions.join()).toContain(`correct what degrades ${back}`);
  });

  it('are Done with the old image without a reboot once their pool has it again', () => {
    expect(rollOut.takenBack).toMatchObject({
      state: 'Done',
      currentImage: rollOut.images.before,
      isCordoned: false,
    });
  });
});
