import { describe, expect, it } from 'vitest';
import { DEFAULT_SCENARIO, parseScenario, readScenario, scenarioNames } from './scenario.ts';

const names = await scenarioNames();
const small = 'title: t\ndescription: d\nhosts: [{ name: m1, role: master }]\n';

describe('the scenarios', () => {
  it('start with the default scenario', () => {
    expect(names[0]).toBe(DEFAULT_SCENARIO);
  });

  it.each(names)('%s is valid', async (name) => {
    const { hosts, usualSeconds, limitSeconds, expect: end, symptom } = await readScenario(name);
    const succeeds = end.outcome === 'installed' && end.clusterStatus === undefined;
    expect(symptom === undefined, 'a symptom is that of a failure').toBe(succeeds);
    expect(hosts.length).toBeGreaterThan(0);
    expect(usualSeconds).toBeLessThan(limitSeconds);
  });

  it.each([
    ['an unknown field', `${small}expect: { outcome: installed }\nspeed: 2\n`, /speed/],
    [
      'an expectation for an unknown host',
      `${small}expect: { outcome: installed, hosts: { m9: { outcome: done } } }\n`,
      /m9/,
    ],
    ['an unknown outcome', `${small}expect: { outcome: fine }\n`, /outcome/],
  ])('refuse %s', (_, text, said) => {
    expect(() => parseScenario(text)).toThrow(said);
  });

  it('list the known names and suggest a similar one for an unknown name', async () => {
    await expect(readScenario('nothing')).rejects.toThrow(DEFAULT_SCENARIO);
    await expect(readScenario('no-dsik')).rejects.toThrow(
      'no scenario is called no-dsik; did you mean no-disk',
    );
  });
});
