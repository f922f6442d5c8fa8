import { join } from 'node:path/posix';
import { keepBundle } from '../../adapters/bundle-file.ts';
import { readEndOf, readFileOf } from '../../adapters/file-access.ts';
import { bundlePathFor, journalPathFor, statusPathFor } from '../../config/complete.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { renderConfigText } from '../../config/show.ts';
import { describeRole } from '../../engine/describe.ts';
import { asAgentError } from '../../engine/failures.ts';
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
import { lsblkArgv } from '../../steps/disk/block-devices.ts';
import type { InstallWorld } from '../../steps/step.ts';
import { collect, type Collector, type Hide, workLimit } from '../../steps/logs/collect.ts';
import { askCheck } from '../doctor/check.ts';
import { renderFinding } from '../doctor/doctor.ts';
import { hostChecks, systemCheck } from '../doctor/host-checks.ts';
import { renderPlan } from '../plan.ts';
import { everyStep } from '../plan-text.ts';
import { restartOf } from '../status.ts';
import { BundleManifest, manifestFile } from './read.ts';

/** A run that has failed, and what is left of it. */
export interface FailedRun {
  readonly loaded: LoadedConfig;
  readonly role: Role<InstallWorld>;
  readonly ports: Pick<Ports, 'clock' | 'host' | 'inventory'>;
  readonly history: RunHistory;
  readonly failure: unknown;
  /** Those of the settings, and all that the run has read. */
  readonly secrets: Masker;
  /** Aborted by a stop. */
  readonly signal: AbortSignal;
}

type CollectScope = Omit<FailedRun, 'failure'> & Pick<Ports, 'clock'>;

/** A file of the bundle. */
interface BundleFile extends Collector<CollectScope> {
  readonly what: string;
}

const kib = 1024;
const quick = { mostBytes: 256 * kib, limit: seconds(5) } as const;

/** All that is collected. Nothing of it changes the host; a disk that hangs costs its limit. */
const bundleFiles: readonly BundleFile[] = [
  {
    ...{ name: 'journal.jsonl', what: 'the journal of the run', ...quick, mostBytes: 1024 * kib },
    read: ({ loaded }, most) =>
      readEndOf({ at: journalPathFor(loaded.config), whose: 'ours' }, most),
  },
  {
    ...{ name: 'status.json', what: 'how the run was shown last', ...quick },
    read: ({ loaded }, most) =>
      readEndOf({ at: statusPathFor(loaded.config), whose: 'ours' }, most),
  },
  {
    ...{ name: 'plan.txt', what: 'every step with its end, and the plan', ...quick },
    read: ({ loaded: { config }, role, history }) => {
      const plan = describeRole(role, config);
      const ends = everyStep(plan).map(({ id, title }) => stepLine(id, title, history));
      return Promise.resolve(`${ends.join('')}\n${renderPlan(plan, 'text')}`);
    },
  },
  {
    ...{ name: 'config.txt', what: 'every setting with its origin', ...quick },
    read: ({ loaded }) => Promise.resolve(renderConfigText(loaded)),
  },
  {
    ...{ name: 'host.txt', what: 'what "bootwright doctor" finds of the host', ...quick },
    limit: seconds(10),
    read: async ({ loaded: { config }, ports, signal }) => {
      const ask = [systemCheck, ...hostChecks].map((check) =>
        askCheck(check, { ...ports, config, signal }),
      );
      return (await Promise.all(ask)).map(renderFinding).join('');
    },
  },
  {
    ...{ name: 'kernel-arguments.txt', what: '/proc/cmdline', ...quick },
    read: ofHost('/proc/cmdline'),
  },
  {
    ...{ name: 'disks.json', what: 'what lsblk says of the disks', ...quick },
    read: ofTool(() => lsblkArgv),
  },
  {
    ...{ name: 'kernel.log', what: 'the end of the kernel log', ...quick, mostBytes: 512 * kib },
    read: ofTool(() => [...journalctl, '--dmesg']),
  },
  {
    ...{ name: 'units.log', what: 'the end of the log of bootkube and of what it needs', ...quick },
    read: ofTool(({ loaded: { config } }) =>
      config.role === 'bootstrap'
        ? [...journalctl, ...bootstrapUnits.flatMap((unit) => ['--unit', unit])]
        : undefined,
    ),
  },
  { ...{ name: 'mounts.txt', what: '/proc/1/mounts', ...quick }, read: ofHost('/proc/1/mounts') },
  {
    ...{ name: 'agent.log', what: 'our log, with the output of tools', ...quick },
    mostBytes: 2048 * kib,
    read: ({ loaded: { config } }, most) =>
      readEndOf({ at: join(config.host.root, config.log.file), whose: 'ours' }, most),
  },
];

function ofHost(path: string): BundleFile['read'] {
  return ({ loaded: { config } }, most) =>
    readEndOf({ at: join(config.host.root, path), whose: 'host' }, most);
}

const journalctl = ['journalctl', '--no-pager', '--lines', '2000'] as const;
const bootstrapUnits = ['bootkube.service', 'kubelet.service', 'release-image.service'] as const;

/** The output of a tool that only reads; undefined where it has nothing to say for this role. */
function ofTool(
  argvFor: (scope: CollectScope) => readonly string[] | undefined,
): BundleFile['read'] {
  return async (scope) => {
    const argv = argvFor(scope);
    if (argv === undefined) return undefined;
    const { signal, ports } = scope;
    return (await ports.host.exec(argv, { signal, limit: quick.limit })).stdout;
  };
}

function stepLine(id: string, title: string, { steps }: RunHistory): string {
  const found = steps.get(id);
  const facts = [
    ...(found?.until === undefined ? [] : [renderDuration(found.until - found.since)]),
    ...(found?.failure === undefined ? [] : [`${found.failure.code}: ${found.failure.message}`]),
  ];
  const state = (found?.state ?? 'not reached').padEnd(11);
  return `${state}  ${plainLine([`${id}: ${title}`, ...facts].join(', '))}\n`;
}

/** What all of it may take, however slow the host is; then the agent ends without a bundle. */
const wholeLimit = seconds(30);

/**
 * Puts together what a person needs to see why a run failed, and resolves with the path of it.
 * @throws AgentError `step.timed-out` after 30 s; the error of the system where nothing can be written
 */
export const collectLogs = (run: FailedRun): Promise<string> =>
  limited(run.ports.clock, workLimit(wholeLimit, run.signal), () =>
    putTogether({ ...run, clock: run.ports.clock }),
  );

async function putTogether({ failure, ...scope }: FailedRun & CollectScope): Promise<string> {
  const { config } = scope.loaded;
  const ended = scope.clock.now();
  const hide = await hidingFor(config, scope.secrets);
  const collected = await Promise.all(bundleFiles.map((one) => bundled(one, scope, hide)));
  const manifest = BundleManifest.parse({
    ...{ v: 1, version, role: scope.role.name, ended },
    host: config.cluster.hostId,
    cluster: config.cluster.id,
    ...factsOf(scope.history),
    failure: failureOf(failure),
    restart: await restartOf(config, scope.role.name),
    files: collected.map(({ entry }) => entry),
  });
  const files: readonly ArchivedFile[] = [
    { name: manifestFile, text: `${JSON.stringify(hiddenIn(manifest, hide), null, 2)}\n` },
    ...collected.flatMap(({ entry: { name }, text }) =>
      text === undefined ? [] : [{ name, text }],
    ),
  ].map((file) => ({ ...file, mode: 0o600 }));
  const path = bundlePathFor(config, ended);
  await keepBundle(path, await packArchive(files, ended));
  return path;
}

const failureOf = (thrown: unknown): BundleManifest['failure'] => {
  const { code, kind, message, hint } = asAgentError(thrown);
  return { code, kind, message, hint };
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
          ...{ id: failed.step, title: failed.title },
          ...{ since: failed.since, attempts: failed.attempts },
        },
      }),
  ...(wait === undefined ? {} : { wait }),
});

interface BundledFile {
  readonly entry: BundleManifest['files'][number];
  readonly text?: string;
}

/** Whatever goes wrong is noted in the place of the file. */
async function bundled(file: BundleFile, scope: CollectScope, hide: Hide): Promise<BundledFile> {
  const { name, what, mostBytes } = file;
  const found = await collect(file, scope, (text) => hiddenLines(text, hide));
  if ('missing' in found) return { entry: { name, what, missing: found.missing } };
  const { text, bytes, size } = found;
  const isCut = size > 2 * mostBytes || text.length >= mostBytes;
  return { text, entry: { name, what, bytes, ...(isCut ? { of: size } : {}) } };
}

/** Takes out what is known to be secret, by its value, and what looks like it. */
async function hidingFor(
  config: LoadedConfig['config'],
  { mask, register }: Masker,
): Promise<Hide> {
  const at = join(config.host.root, PULL_SECRET_PATH);
  const pullSecret = await readFileOf({ at, kind: 'secret', whose: 'host' }).catch(() => '');
  for (const secret of credentialsIn(pullSecret.toString()).secrets) register(secret);
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
