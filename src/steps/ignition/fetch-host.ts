import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Config } from '../../config/schema.ts';
import { fact } from '../../engine/fact.ts';
import type { PollResult } from '../../engine/wait.ts';
import { invalidCertificate } from '../../ignition/certificate-times.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import type { Config as IgnitionConfig } from '../../ignition/types.ts';
import { secretsInIgnition } from '../../layering/registry/log-secrets.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Download } from '../../ports/inventory.ts';
import { hostRole } from '../conditions.ts';
import { heartbeatOf } from '../heartbeat.ts';
import { withRegistries } from '../host/registries.ts';
import { step, type StepScope } from '../step.ts';
import { ignitionSourceFailure } from './failures.ts';
import { chooseSource, explainSource, type IgnitionPorts } from './sources.ts';

const HostIgnitionSchema = z.object({
  /** On the host, mode 0600. */
  path: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  /** The source, for people. */
  origin: z.string(),
  /** Spec version of the config, `3.2.0`. */
  version: z.string(),
});

/** The Ignition config that coreos-installer puts on the disk of this host. */
export const HostIgnition = fact('ignition.host', HostIgnitionSchema);
export type HostIgnition = z.infer<typeof HostIgnitionSchema>;

/** Path of the saved config on the host; `coreos-installer` reads it. */
function hostIgnitionPath(config: Config): string {
  const { hostId } = config.cluster;
  return `/opt/install-dir/${hostRole(config)}${hostId === '' ? '' : `-${hostId}`}.ign`;
}

/** Path of the saved bootstrap.ign; the machine-config-daemon reads it. */
export const bootstrapIgnitionPath = '/opt/install-dir/bootstrap.ign';

/**
 * Path of the single node's Ignition config that bootkube writes (openshift/installer, bootstrap in
 * place).
 */
export const renderedIgnitionPath = '/opt/openshift/master.ign';

/** Ports and settings for receiving a config. */
export type ReceiveScope<Uses extends keyof IgnitionPorts> = Pick<
  StepScope<Uses>,
  Uses | 'config' | 'signal' | 'hide'
>;

/**
 * Fetches the Ignition config of this host and validates it.
 * @throws AgentError `ignition.*`, and those of its source
 */
export async function readHostIgnition({
  config,
  signal,
  hide,
  ...ports
}: ReceiveScope<keyof IgnitionPorts>): Promise<ValidIgnition> {
  const { open } = chooseSource(config);
  const download = await open(ports, config, { role: hostRole(config), signal });
  return receiveValid(download, { sha256: config.ignition.sha256, hide });
}

/**
 * Fetches the Ignition config of this host and saves it, byte for byte unless registries are set.
 * It is validated before the write, because a host that boots with an invalid config needs manual
 * repair.
 * @returns the config as served, and its saved form
 * @throws AgentError `ignition.*`, `registries.bad-ca`, and those of its source
 */
export async function saveHostIgnition(
  scope: StepScope<keyof IgnitionPorts | 'clock'>,
): Promise<{ readonly served: Uint8Array; readonly saved: HostIgnition }> {
  const { bytes: served, origin, config } = await readHostIgnition(scope);
  refuseWrongTime(config, scope.clock.now());
  const path = hostIgnitionPath(scope.config);
  const content = (await withRegistries(scope, config)) ?? served;
  const { signal } = scope;
  const { bytes, sha256 } = await scope.host.writeFile(path, content, { signal, mode: 0o600 });
  const { version } = config.ignition;
  return { served, saved: { path, bytes, sha256, origin, version } };
}

/**
 * Refuses a config with certificates that will not be valid when they are used.
 * @throws AgentError `ignition.wrong-time`
 */
export function refuseWrongTime(config: IgnitionConfig, now: number): void {
  const invalid = invalidCertificate(config, now);
  if (invalid === undefined) return;
  const what = `the clock of this host says ${new Date(now).toISOString()}, and ${invalid}`;
  throw ignitionSourceFailure('ignition.wrong-time', what);
}

/** Bootstrap configs have several MB; a larger file is not an Ignition config. */
const LARGEST_BYTES = 64 * 1024 * 1024;

/**
 * Compares a config with a digest in the notation of coreos-installer, `sha256-HEX` or
 * `sha512-HEX`.
 * @throws AgentError `ignition.wrong-digest`
 */
export function refuseOtherHash(
  text: string | Uint8Array,
  { origin, hash }: { readonly origin: string; readonly hash: string | undefined },
): void {
  if (hash === undefined) return;
  const [, name = '', expected = ''] = /^(sha256|sha512)-([0-9a-f]+)$/i.exec(hash) ?? [];
  const actual = name === '' ? '' : createHash(name).update(text).digest('hex');
  if (name !== '' && actual === expected.toLowerCase()) return;
  throw ignitionSourceFailure('ignition.wrong-digest', `${origin} does not match --ignition-hash`, {
    context: { origin, expected: hash, actual },
  });
}

/**
 * Registers the secrets of configs that an earlier run saved, so that they are masked; a missing
 * config has none.
 */
export async function hideSaved(
  { host, signal, hide }: Pick<StepScope<'host'>, 'host' | 'signal' | 'hide'>,
  config: Config,
): Promise<void> {
  const paths = [hostIgnitionPath(config), bootstrapIgnitionPath, renderedIgnitionPath];
  for (const path of paths) {
    const text = (await host.readText(path, signal)) ?? '';
    for (const secret of secretsInIgnition(text)) hide(secret);
  }
}

/** A worker of Cluster API may exist long before its cluster. */
const longestGate = hours(24);

/** The limit of a step that waits for a file for this host in a service. */
export const gatedLimit = longestGate + minutes(45);

/** A clock is set within this time after a boot, unless it is never set. */
const longestUnset = minutes(5);

/**
 * Reads a file of the service as soon as the service has it for this host and the clock of the host
 * is set.
 * @throws AgentError those of `read`, other than `inventory.not-ready`
 */
export function untilReady<T>(
  scope: Pick<StepScope<'clock'>, 'clock' | 'alive' | 'until'>,
  what: string,
  read: () => Promise<T>,
): Promise<T> {
  const { clock } = scope;
  const [beat, since] = [heartbeatOf(scope), clock.elapsed()];
  const poll = async (): Promise<PollResult<T>> => {
    try {
      return { done: await read() };
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const isUnset =
        error.code === 'ignition.wrong-time' && clock.elapsed() < since + longestUnset;
      if (error.code !== 'inventory.not-ready' && !isUnset) throw error;
      beat();
      return { status: error.message };
    }
  };
  return scope.until(`the service has ${what}`, poll, { within: longestGate, every: seconds(10) });
}

/** A completely received, valid config. */
export interface ValidIgnition {
  readonly bytes: Uint8Array;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  readonly config: IgnitionConfig;
  /** The source, for people. */
  readonly origin: string;
}

/**
 * Reads a download to its end, compares it with its announced size and with the digest if one is
 * given, masks its secrets, and validates it as Ignition.
 * @throws AgentError `ignition.*`, and those of the body
 */
export async function receiveValid(
  download: Download,
  { sha256: expected, hide }: { readonly sha256: string } & Pick<StepScope<never>, 'hide'>,
): Promise<ValidIgnition> {
  const origin = shownUrl(download.origin);
  const bytes = await readUpTo(download.body, LARGEST_BYTES);
  if (bytes === undefined) {
    const what = `${origin} sends more than 64 MiB`;
    throw ignitionSourceFailure('ignition.oversized', what, { context: { origin } });
  }
  const { bytes: announced = bytes.length } = download;
  if (announced !== bytes.length) {
    const what = `${origin} announced ${announced} bytes and sent ${bytes.length}`;
    const context = { origin, announced, received: bytes.length };
    throw ignitionSourceFailure('ignition.cut', what, { context });
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (expected !== '' && expected !== sha256) {
    const what = `${origin} does not match ignition.sha256`;
    const context = { origin, expected, actual: sha256 };
    throw ignitionSourceFailure('ignition.wrong-digest', what, { context });
  }
  for (const secret of secretsInIgnition(bytes.toString())) hide(secret);
  return { bytes, sha256, config: parseValidConfig(bytes), origin };
}

/** Fetches the Ignition config of this host. */
export const fetchHost = step({
  id: 'ignition/fetch-host',
  title: "Fetch this host's Ignition",
  stage: 'Installing',
  stageInfo: hostRole,
  uses: ['host', 'inventory', 'objects', 'web', 'clock'],
  gives: HostIgnition,
  retry: { attempts: 3, every: seconds(2) },
  limit: gatedLimit,
  explain: (config) => `${explainSource(config)}, to ${hostIgnitionPath(config)}`,
  run: async (scope) => {
    const read = () => saveHostIgnition(scope);
    return (await untilReady(scope, 'the Ignition', read)).saved;
  },
});
