import { describe, expect, it } from 'vitest';
import {
  lastStep,
  needsWorkload,
  operatorConditions,
  operatorNames,
  stepOf,
  versionStatus,
} from './operators.ts';

const trueOnes = (name: (typeof operatorNames)[number], step: number): readonly string[] =>
  operatorConditions(name, { step })
    .filter(({ status }) => status === 'True')
    .map(({ type }) => type);

describe('the operators of a cluster', () => {
  it.each([
    ['before its turn', 0, ['Progressing']],
    ['while it fails', stepOf('console') - 1, ['Degraded', 'Progressing']],
    ['at its end', stepOf('console'), ['Available']],
  ])('shows the console %s', (_, step, expected) => {
    expect(trueOnes('console', step)).toEqual(expected);
  });

  it('become available one after the other', () => {
    const counts = Array.from(
      { length: lastStep + 1 },
      (_, step) =>
        operatorNames.filter((name) => trueOnes(name, step).includes('Available')).length,
    );
    expect(counts).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]);
  });

  it('need a node for routers from ingress on', () => {
    expect([stepOf('authentication'), stepOf('ingress') - 1].map(needsWorkload)).toEqual([
      false,
      true,
    ]);
  });

  it('hold the version of the cluster back', () => {
    const at = new Date(0);
    const text = (step: number): string =>
      JSON.stringify(versionStatus({ step, version: '4.20.1', at }));
    expect(text(lastStep - 1)).toContain('5 of 6 done, waiting on console');
    expect(text(lastStep)).toContain('"type":"Available","status":"True"');
  });

  it('end with one that fails for ever, and a version that waits for it', () => {
    const progress = { step: lastStep, stuck: 'console' } as const;
    const conditions = operatorConditions('console', progress);
    expect(conditions.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'Degraded True',
      'Progressing True',
      'Available False',
    ]);
    const version = versionStatus({ ...progress, version: '4.20.1', at: new Date(0) });
    expect(JSON.stringify(version)).toContain('5 of 6 done, waiting on console');
  });
});
