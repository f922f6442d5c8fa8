import type { Config } from '../../config/schema.ts';
import { parseValidConfig, type ParsedConfig } from '../../ignition/parse.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { RoleName } from '../../model/role.ts';
import type { StepScope } from '../step.ts';
import { chooseSource } from './choose-source.ts';
import type { HostIgnition } from './facts.ts';
import { receive } from './receive.ts';
import type { IgnitionPorts } from './sources/source.ts';

/** The role that the host will have: the bootstrap host becomes a master. */
export const hostRole = ({ role }: Config): RoleName => (role === 'bootstrap' ? 'master' : role);

/** Where the config is kept on the host; `coreos-installer` reads it there. */
export function hostIgnitionPath(config: Config): string {
  const { hostId } = config.cluster;
  return `/opt/install-dir/${hostRole(config)}${hostId === '' ? '' : `-${hostId}`}.ign`;
}

/** The Ignition of this host as it was served, and where it is kept. */
export interface KeptIgnition {
  readonly bytes: Uint8Array;
  readonly kept: HostIgnition;
  /** What is odd in it; whoever fetched it tells. */
  readonly warnings: Warnings;
}

type Warnings = ParsedConfig['warnings'];

/** Tells what is odd in a config that is taken all the same. */
export function tellWarnings({ note }: Pick<StepScope<never>, 'note'>, warnings: Warnings): void {
  for (const { message, path, rule } of warnings)
    note('warn', `ignition: ${message}`, { path, rule });
}

/**
 * Fetches the Ignition of this host and keeps it, byte for byte. It is checked as a whole before a
 * byte of it is written, since a host that boots with a broken config is lost until a person comes.
 * @throws AgentError `ignition.*`, and what its source fails with
 */
export async function keepHostIgnition({
  config,
  signal,
  ...ports
}: StepScope<keyof IgnitionPorts>): Promise<KeptIgnition> {
  const source = chooseSource(config);
  const download = await source.open(ports, config, { role: hostRole(config), signal });
  const { bytes, sha256 } = await receive(download, { sha256: config.ignition.sha256 });
  const { config: parsed, warnings } = parseValidConfig(bytes);
  const path = hostIgnitionPath(config);
  await ports.host.writeFile(path, bytes, { signal, mode: 0o600 });
  const origin = shownUrl(download.origin);
  const { version } = parsed.ignition;
  return { bytes, kept: { path, bytes: bytes.length, sha256, origin, version }, warnings };
}
