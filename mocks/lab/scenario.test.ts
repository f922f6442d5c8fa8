import { describe, expect, it } from 'vitest';
import { DEFAULT_SCENARIO, parseScenario, readScenario, scenarioNames } from './scenario.ts';

const names = await scenarioNames();
const small = 'title: t\ndescription: d\nhosts: [{ name: m1, role: master }]\n';

describe('the scenarios', () => {
  it('begin with the default', () => {
    expect(names[0]).toBe(DEFAULT_SCENARIO);
  });

  it.each(names)('%s is well formed', async (name) => {
    const { hosts, usualSeconds, limitSeconds } = await readScenario(name);
    expect(hosts.length).toBeGreaterThan(0);
    expect(usualSeconds).toBeLessThan(limitSeconds);
  });

  it.each([
    ['an unknown field', `${small}expect: { outcome: installed }\nspeed: 2\n`, /speed/],
    [
      'a fault of a stranger',
      `${small}expect: { outcome: installed, hosts: { m9: { outcome: done } } }\n`,
      /m9/,
    ],
    ['an outcome that is none', `${small}expect: { outcome: fine }\n`, /outcome/],
  ])('refuse %s', (_, text, said) => {
    expect(() => parseScenario(text)).toThrow(said);
  });

  it('name what there is when one is unknown', async () => {
    await expect(readScenario('nothing')).rejects.toThrow(DEFAULT_SCENARIO);
    await expect(readScenario('no-dsik')).rejects.toThrow(
      'no scenario is called no-dsik; did you mean no-disk',
    );
  });
});
