import { renderDuration, seconds } from '../../src/model/duration.ts';
import { outcomeWords } from './report.ts';
import { DEFAULT_SCENARIO, type Scenario, symptoms } from './scenario.ts';

type Listed = Pick<Scenario, 'title' | 'description' | 'symptom' | 'usualSeconds' | 'expect'>;

/** A scenario's title, expected end and duration. */
export function listed(name: string, scenario: Listed): string {
  const { title, description, usualSeconds } = scenario;
  const after =
    usualSeconds === undefined ? '' : `, after about ${renderDuration(seconds(usualSeconds))}`;
  return [
    `${name}${name === DEFAULT_SCENARIO ? ' (the default)' : ''}: ${title}`,
    `    ${description.trim()}`,
    `    Ends: ${endOf(scenario)}${after}.`,
    '\n',
  ].join('\n');
}

/** Groups the scenarios that succeed, and those that fail by symptom; leaves out empty groups. */
export function grouped<S extends Listed>(
  scenarios: readonly (readonly [string, S])[],
): readonly { readonly heading: string; readonly scenarios: readonly (readonly [string, S])[] }[] {
  const isInstalled = ({ expect: { outcome, clusterStatus = 'installed' } }: Listed): boolean =>
    outcome === 'installed' && clusterStatus === 'installed';
  const fail = scenarios.filter(([, scenario]) => !isInstalled(scenario));
  return [
    {
      heading: 'Installations that succeed',
      scenarios: scenarios.filter(([, scenario]) => isInstalled(scenario)),
    },
    ...symptoms.map((symptom) => ({
      heading: `Installations that fail: ${symptom}`,
      scenarios: fail.filter(([, scenario]) => scenario.symptom === symptom),
    })),
  ].filter((group) => group.scenarios.length > 0);
}

/** The expected outcome, with the hosts that should fail. */
function endOf({ expect: { outcome, clusterStatus = 'installed', hosts } }: Listed): string {
  const failures = Object.entries(hosts).flatMap(([host, { failure }]) =>
    failure === undefined ? [] : [`${host} by ${failure}`],
  );
  return [outcomeWords({ outcome, clusterStatus, operators: [] }), ...failures].join(', ');
}
