import { systemClock } from '../../adapters/clock.ts';
import { requireHost } from '../../adapters/host-root.ts';
import { joinHostNetwork } from '../../adapters/host/nsenter-host.ts';
import { findInConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { maskerFor } from '../../lib/masker.ts';
import { type AgentError, exitCodes } from '../../model/failure.ts';
import { Reporter } from '../../reporting/reporter.ts';
import { chooseRole } from '../../roles/choose.ts';
import type { InstallLine } from '../command.ts';
import { withRefusals } from '../config.ts';
import { openWorld, type RunWorld } from '../install-world.ts';
import { print, printJson, wrapped } from '../messages.ts';
import { agentOf, readRunStatus } from '../status.ts';
import { untilStopped } from '../stop-signal.ts';
import { printWaiting } from '../waiting.ts';
import {
  askCheck,
  type Check,
  failedBy,
  type HostFinding,
  type NetworkScope,
  ok,
} from './check.ts';
import { findDisks, hostChecks, systemCheck } from './host-checks.ts';
import { networkChecks } from './network-checks.ts';
import { checkPreflight } from './preflight.ts';

/**
 * Checks a live host before an install changes it: finds reasons for which an install with the same
 * flags would be refused or fail. Prints each finding as soon as the findings before it are there.
 * Resolves with 0, or the exit code of the first failed finding.
 * @throws AgentError `web.bad-authority`
 */
export const runDoctor = ({ argv, environment, format }: InstallLine): Promise<number> =>
  untilStopped(async (signal) => {
    const { mistakes, config, given } = await findInConfig(argv, environment);
    // An install joins the host's network too: results from another network do not hold for the
    // install.
    await joinHostNetwork(config.host.root, environment);
    const { mask, register } = maskerFor(config);
    const all = withRefusals(mistakes, config);
    const isGiven = [...given.keys()].some((key) => !ofPlace.has(key));
    await using world = await openWorld(config, {
      environment,
      mask,
      isQuiet: true,
    });
    const scope = { ...world.ports, config, signal, hide: register };
    const isRefused = mistakes.some(({ code }) => code !== 'config.incomplete');
    const configured = isGiven || isRefused ? configFindings(all, config) : [notGiven];
    // If the host is out of reach, checks that need it have no other result than this.
    const system = askCheck(
      {
        name: systemCheck.name,
        ask: async (asked) => {
          await requireHost(config.host.root);
          return systemCheck.ask(asked);
        },
      },
      scope,
    );
    const ifReached = async (
      check: string,
      ask: () => Promise<readonly HostFinding[]>,
    ): Promise<readonly HostFinding[]> =>
      (await system).state === 'failed' ? [{ check, ...unreached }] : ask();
    const one = (check: Check<NetworkScope>): Group => [
      check.name,
      ifReached(check.name, async () => [await askCheck(check, scope)]),
    ];
    const groups: readonly Group[] = [
      ['configuration', Promise.resolve(configured)],
      ['agent', checkAgent(config).then((finding) => [finding])],
      [systemCheck.name, system.then((finding) => [finding])],
      ...hostChecks.map(one),
      ['disk', ifReached('disk', () => findDisks(scope))],
      ...networkChecks(config).map(one),
      ...(isGiven
        ? [['disk and image', ifReached('disk and image', () => preflight(world, scope))] as const]
        : []),
    ];
    const findings: HostFinding[] = [];
    for (const [name, answer] of groups) {
      const found = await printWaiting(
        () => name,
        () => answer,
      );
      const shown = found.map((finding) => masked(finding, mask));
      findings.push(...shown);
      if (format !== 'json') print(shown.map(renderFinding).join(''));
    }
    if (format === 'json') printJson({ v: 1, findings });
    else print(summaryOf(findings));
    const first = findings.find(({ state }) => state === 'failed');
    return first === undefined ? 0 : exitCodes[first.kind ?? 'host'];
  });

/** A subject of checks, and its findings. */
type Group = readonly [name: string, findings: Promise<readonly HostFinding[]>];

const unreached = { state: 'not checked', says: 'the host cannot be reached' } as const;

/** Settings that only describe where the program runs. They do not describe an install. */
const ofPlace: ReadonlySet<string> = new Set(['host.root', 'images.self', 'service.token']);

const notGiven: HostFinding = {
  check: 'configuration',
  state: 'not checked',
  says: 'no settings are given',
  hint: 'give the flags of the install: its configuration, disk, image and service are checked then too',
};

const configFindings = (mistakes: readonly AgentError[], config: Config): readonly HostFinding[] =>
  mistakes.length === 0
    ? [{ check: 'configuration', ...ok(`complete for the role ${chooseRole(config).name}`) }]
    : mistakes.map((mistake) => ({ check: 'configuration', ...failedBy(mistake) }));

/** Checks for another agent that runs on this host, or has run on it. */
async function checkAgent(config: Config): Promise<HostFinding> {
  const check = 'agent';
  const status = await readRunStatus(config).catch(() => undefined);
  if (status === undefined) return { check, ...ok('none has run on this host') };
  const hint = 'see "bootwright status"';
  const { role, state } = status;
  if (agentOf(status) === 'running')
    return { check, state: 'failed', says: `one of the role ${role} is running`, hint };
  return state === 'running'
    ? { check, state: 'warning', says: `one of the role ${role} ended unexpectedly`, hint }
    : { check, ...ok(`one of the role ${role} has ${state}`) };
}

/** Sends no reports: the service hears about a host only from its installation. */
async function preflight(
  { ports }: RunWorld,
  { config, signal, hide }: NetworkScope,
): Promise<readonly HostFinding[]> {
  const role = chooseRole(config);
  const reports = new Reporter({
    ladder: role.ladder,
    clock: systemClock,
    emit: () => undefined,
    send: () => Promise.resolve(),
  });
  try {
    return await checkPreflight({ role, config, ports: { ...ports, reports }, signal, hide });
  } finally {
    reports.close();
  }
}

const masked = (finding: HostFinding, mask: (text: string) => string): HostFinding => ({
  ...finding,
  says: plainLine(mask(finding.says)),
  ...(finding.hint === undefined ? {} : { hint: plainLine(mask(finding.hint)) }),
});

const marks = { ok: '✓', warning: '!', failed: '✗', 'not checked': '–' } as const;
const checkWidth = 18;
const textWidth = 76;

/** A finding for people: one line, and the remedy below it. */
export function renderFinding({ check, state, says, hint, code }: HostFinding): string {
  const text = code === undefined ? says : `${code}: ${says}`;
  const indent = ' '.repeat(checkWidth + 4);
  const isLong = check.length > checkWidth;
  const [first = '', ...more] = wrapped(text, textWidth);
  return [
    `${marks[state]} ${check.padEnd(checkWidth)}${isLong ? '' : `  ${first}`}`,
    ...(isLong ? [`${indent}${first}`] : []),
    ...more.map((line) => `${indent}${line}`),
    ...(hint === undefined || state === 'ok'
      ? []
      : wrapped(hint, textWidth - 2).map(
          (line, index) => `${indent}${index === 0 ? '→' : ' '} ${line}`,
        )),
  ]
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** The last line: the result for an install. */
export function summaryOf(findings: readonly HostFinding[]): string {
  const count = (state: HostFinding['state']): number =>
    findings.filter((finding) => finding.state === state).length;
  const [failed, warnings] = [count('failed'), count('warning')];
  const numbers = `${failed} failed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  return `\n${numbers}, ${count('ok')} fine${failed > 0 ? '; an install would fail' : ''}\n`;
}
