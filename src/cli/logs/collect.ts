import { keepBundle } from '../../adapters/bundle-file.ts';
import { type FileEnd, readEndOf } from '../../adapters/file-access.ts';
import { hostnameOf, pathOnHost } from '../../adapters/host-root.ts';
import { bundlePathFor, journalPath, statusPath } from '../../config/complete.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { renderConfigText } from '../../config/show.ts';
import { describeRole } from '../../engine/describe.ts';
import { asAgentError, reportOf } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import type { Role } from '../../engine/role.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { credentialsIn, withoutSecretLooks } from '../../layering/registry/log-secrets.ts';
import { type ArchivedFile, packArchive } from '../../lib/archive.ts';
import { jsonIn } from '../../lib/json.ts';
import type { Masker } from '../../lib/masker.ts';
import { plainLine, withTexts } from '../../lib/plain-text.ts';
import { minutes, renderDuration, seconds } from '../../model/duration.ts';
import { MASK } from '../../model/secret.ts';
import { version } from '../../model/version.ts';
import type { Ports } from '../../ports/ports.ts';
import type { RunHistory } from '../../reporting/run-history.ts';
import type { InstallWorld } from '../../steps/step.ts';
import {
  collect,
  type Collector,
  collectorsOf,
  type Hide,
  type LogReach,
  rowsOf,
  workLimit,
} from '../../steps/logs/collectors.ts';
import { askCheck } from '../doctor/check.ts';
import { renderFinding } from '../doctor/doctor.ts';
import { hostChecks, systemCheck } from '../doctor/host-checks.ts';
import { BundleManifest } from '../documents.ts';
import { renderPlan } from '../plan.ts';
import { everyStep } from '../plan-text.ts';
import { restartOf } from '../status.ts';
import { manifestFile } from './read.ts';

/** A run whose logs are collected, with its known facts. */
export interface CollectedRun {
  readonly loaded: LoadedConfig;
  readonly role: Role<InstallWorld>;
  readonly ports: Pick<Ports, 'clock' | 'host' | 'inventory'>;
  readonly history: RunHistory;
  /** The failure of the run, or its state if a user asked for the logs. */
  readonly end: { readonly failure: unknown } | { readonly state: string };
  /** Secrets of the settings, and all secrets that the run has read. */
  readonly secrets: Masker;
  /** Aborts on a stop. */
  readonly signal: AbortSignal;
}

/** Maximum bytes from the end of a file on the host. */
const longestFile = 512 * 1024;

/**
 * Access to the sources of the logs; on a hanging disk, a row of the table takes its whole limit.
 */
function reachOf({ loaded, role, ports, history, signal }: CollectedRun): LogReach {
  const { config } = loaded;
  const endOf = async (path: string, most: number): Promise<FileEnd | undefined> =>
    readEndOf(await pathOnHost(config.host.root, path), most);
  const ours = (path: string) => (most: number) => endOf(path, most);
  const readText = async (path: string): Promise<string | undefined> =>
    (await endOf(path, longestFile))?.text;
  return {
    clock: ports.clock,
    host: { ...ports.host, readText },
    signal,
    own: {
      'journal.jsonl': ours(journalPath),
      'status.json': ours(statusPath),
      'agent.log': ours(config.log.file),
      'config.txt': () => Promise.resolve(renderConfigText(loaded)),
      'plan.txt': () => {
        const plan = describeRole(role, config);
        const ends = everyStep(plan).map(({ id, title }) => stepLine(id, title, history));
        return Promise.resolve(`${ends.join('')}\n${renderPlan(plan, 'text')}`);
      },
      'host.txt': async (_, within) => {
        const ask = [systemCheck, ...hostChecks].map((check) =>
          askCheck(check, { ...ports, config, signal: within }),
        );
        return (await Promise.all(ask)).map(renderFinding).join('');
      },
    },
  };
}

function stepLine(id: string, title: string, { steps }: RunHistory): string {
  const found = steps[id];
  const facts = [
    ...(found?.until === undefined ? [] : [renderDuration(found.until - found.since)]),
    ...(found?.failure === undefined ? [] : [`${found.failure.code}: ${found.failure.message}`]),
  ];
  const state = (found?.state ?? 'not reached').padEnd(11);
  return `${state}  ${plainLine([`${id}: ${title}`, ...facts].join(', '))}\n`;
}

/**
 * Limit of the whole collection; after it, there is no bundle. Each row has its own limit, so this
 * one ends a run whose disk hangs. A busy host takes more than 30 s to mask and pack the logs.
 */
const wholeLimit = minutes(2);

/**
 * Collects the logs that explain the failure of a run, and resolves with the path of the bundle.
 * @throws AgentError `step.timed-out` after 2 min; the error of the system if the bundle cannot be
 * written
 */
export const collectLogs = (run: CollectedRun): Promise<string> =>
  limited(run.ports.clock, workLimit(wholeLimit, run.signal), async () => {
    const { bytes, manifest } = await putTogether(run);
    const path = bundlePathFor(manifest.ended);
    await keepBundle(await pathOnHost(run.loaded.config.host.root, path), bytes);
    return path;
  });

/** A bundle in memory, with its manifest. */
interface PackedLogs {
  readonly bytes: Uint8Array;
  readonly manifest: BundleManifest;
}

/**
 * Collects the logs into a bundle in memory.
 * @throws AgentError `step.timed-out` after 2 min
 */
export const packLogs = (run: CollectedRun): Promise<PackedLogs> =>
  limited(run.ports.clock, workLimit(wholeLimit, run.signal), () => putTogether(run));

async function putTogether(run: CollectedRun): Promise<PackedLogs> {
  const { config } = run.loaded;
  const ended = run.ports.clock.now();
  const hide = await hidingFor(run);
  const reach = reachOf(run);
  const rows = await Promise.all(
    collectorsOf('run')
      .filter(({ role = run.role.name }) => role === run.role.name)
      .map((row) => rowsOf(row, reach).catch(() => [row])),
  );
  const collected = await Promise.all(rows.flat().map((row) => bundled(row, reach, hide)));
  const manifest: BundleManifest = BundleManifest.parse({
    v: 1,
    version,
    role: run.role.name,
    ended,
    host: config.cluster.hostId,
    cluster: config.cluster.id,
    hostname: await hostnameOf(config.host.root),
    ...factsOf(run.history),
    ...('failure' in run.end ? { failure: failureOf(run.end.failure) } : run.end),
    restart: await restartOf(config, run.role.name),
    files: collected.map(({ entry }) => entry),
  });
  const files: readonly ArchivedFile[] = [
    { name: manifestFile, text: `${JSON.stringify(hiddenIn(manifest, hide), null, 2)}\n` },
    ...collected.flatMap(({ entry: { name }, text }) =>
      text === undefined ? [] : [{ name, text }],
    ),
  ].map((file) => ({ ...file, mode: 0o600 }));
  return { bytes: await packArchive(files, ended), manifest };
}

const failureOf = (thrown: unknown): BundleManifest['failure'] => {
  const { code, kind, message, why, hint } = reportOf(asAgentError(thrown));
  return { code, kind, message, why, hint };
};

const factsOf = ({
  run,
  since,
  failed,
  wait,
}: RunHistory): Pick<BundleManifest, 'run' | 'since' | 'step' | 'wait'> => ({
  run,
  ...(since === undefined ? {} : { since }),
  ...(failed === undefined
    ? {}
    : {
        step: {
          id: failed.step,
          title: failed.title,
          since: failed.since,
          attempts: failed.attempt,
        },
      }),
  ...(wait === undefined ? {} : { wait }),
});

/** Collects one row. An error is noted in place of the file. */
async function bundled(
  row: Collector,
  reach: LogReach,
  hide: Hide,
): Promise<{ readonly entry: BundleManifest['files'][number]; readonly text?: string }> {
  const { name, what, mostBytes } = row;
  const found = await collect(row, reach, (text) => hiddenLines(text, hide));
  if ('missing' in found) return { entry: { name, what, missing: found.missing } };
  const { text, bytes, size } = found;
  const isCut = size > 2 * mostBytes || text.length >= mostBytes;
  return { text, entry: { name, what, bytes, ...(isCut ? { of: size } : {}) } };
}

/** Masks known secrets by value, and text that looks like a secret. */
async function hidingFor({ ports, secrets, signal }: CollectedRun): Promise<Hide> {
  const { mask, register } = secrets;
  const pullSecret = await limited(ports.clock, workLimit(seconds(5), signal), (within) =>
    ports.host.readText(PULL_SECRET_PATH, within),
  ).catch(() => undefined);
  for (const secret of credentialsIn(pullSecret ?? '').secrets) register(secret);
  return (text) => withoutSecretLooks(mask(text));
}

/** Masks a text line by line if its lines are JSON, so that they stay JSON. */
const hiddenLines = (text: string, hide: Hide): string =>
  text
    .split(/^(\{.*)$/m)
    .map((part) => {
      const value = part.startsWith('{') ? jsonIn(part) : undefined;
      return value === undefined ? hide(part) : JSON.stringify(hiddenIn(value, hide));
    })
    .join('');

/** Names of fields whose values are secret in any form. */
const secretName = /passw|passphrase|secret$|token$|api_?key$|^auth(?:orization)?$/i;

function hiddenIn(value: unknown, hide: Hide): unknown {
  const named = JSON.stringify(value, (name, one: unknown) =>
    typeof one === 'string' && secretName.test(name) ? MASK : one,
  );
  return withTexts(jsonIn(named), hide);
}
