import { keepBundle } from '../../adapters/bundle-file.ts';
import { type FileEnd, readEndOf } from '../../adapters/file-access.ts';
import { pathOnHost } from '../../adapters/host-root.ts';
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
import { renderDuration, seconds } from '../../model/duration.ts';
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

/** A run whose logs are collected, and what is known of it. */
export interface CollectedRun {
  readonly loaded: LoadedConfig;
  readonly role: Role<InstallWorld>;
  readonly ports: Pick<Ports, 'clock' | 'host' | 'inventory'>;
  readonly history: RunHistory;
  /** What it has failed by; or how it stands, where somebody asked for its logs. */
  readonly end: { readonly failure: unknown } | { readonly state: string };
  /** Those of the settings, and all that the run has read. */
  readonly secrets: Masker;
  /** Aborted by a stop. */
  readonly signal: AbortSignal;
}

/** Bytes of the end of a file of the host. */
const longestFile = 512 * 1024;

/** Reads what is collected; a disk that hangs costs the limit of its row. */
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

/** What all of it may take, however slow the host is; then there is no bundle. */
const wholeLimit = seconds(30);

/**
 * Puts together what a person needs to see why a run failed, and resolves with the path of it.
 * @throws AgentError `step.timed-out` after 30 s; the error of the system where nothing can be
 * written
 */
export const collectLogs = (run: CollectedRun): Promise<string> =>
  limited(run.ports.clock, workLimit(wholeLimit, run.signal), async () => {
    const { bytes, manifest } = await putTogether(run);
    const path = bundlePathFor(manifest.ended);
    await keepBundle(await pathOnHost(run.loaded.config.host.root, path), bytes);
    return path;
  });

/** A bundle that is nowhere yet, and what it says of itself. */
interface PackedLogs {
  readonly bytes: Uint8Array;
  readonly manifest: BundleManifest;
}

/**
 * The same, written nowhere.
 * @throws AgentError `step.timed-out` after 30 s
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
      .filter(({ role = config.role }) => role === config.role)
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

interface BundledFile {
  readonly entry: BundleManifest['files'][number];
  readonly text?: string;
}

/** Whatever goes wrong is noted in the place of the file. */
async function bundled(row: Collector, reach: LogReach, hide: Hide): Promise<BundledFile> {
  const { name, what, mostBytes } = row;
  const found = await collect(row, reach, (text) => hiddenLines(text, hide));
  if ('missing' in found) return { entry: { name, what, missing: found.missing } };
  const { text, bytes, size } = found;
  const isCut = size > 2 * mostBytes || text.length >= mostBytes;
  return { text, entry: { name, what, bytes, ...(isCut ? { of: size } : {}) } };
}

/** Takes out what is known to be secret, by its value, and what looks like it. */
async function hidingFor({ ports, secrets, signal }: CollectedRun): Promise<Hide> {
  const { mask, register } = secrets;
  const pullSecret = await limited(ports.clock, workLimit(seconds(5), signal), (within) =>
    ports.host.readText(PULL_SECRET_PATH, within),
  ).catch(() => undefined);
  for (const secret of credentialsIn(pullSecret ?? '').secrets) register(secret);
  return (text) => withoutSecretLooks(mask(text));
}

/** A text line by line where lines are JSON: those stay JSON. */
const hiddenLines = (text: string, hide: Hide): string =>
  text
    .split(/^(\{.*)$/m)
    .map((part) => {
      const value = part.startsWith('{') ? jsonIn(part) : undefined;
      return value === undefined ? hide(part) : JSON.stringify(hiddenIn(value, hide));
    })
    .join('');

/** What is under such a name is secret whatever it looks like. */
const secretName = /passw|passphrase|secret$|token$|api_?key$|^auth(?:orization)?$/i;

function hiddenIn(value: unknown, hide: Hide): unknown {
  const named = JSON.stringify(value, (name, one: unknown) =>
    typeof one === 'string' && secretName.test(name) ? MASK : one,
  );
  return withTexts(jsonIn(named), hide);
}
