import { refuseErrors, type Finding } from './finding.ts';
import { mergeConfigs } from './merge.ts';
import { parseValidConfig } from './parse.ts';
import { renderConfig } from './render.ts';
import type { Config, Ignition } from './types.ts';
import { validateConfig } from './validate.ts';

/** The two configs of a single node. */
export interface SingleNodeInput {
  /** `master.ign`, rendered on the node itself. */
  readonly master: Uint8Array | string;
  /** The config of this host from the inventory service: a pointer and the host's overrides. */
  readonly host: Uint8Array | string;
}

/** What the node boots with. */
export interface SingleNodeConfig {
  readonly config: Config;
  /** Compact JSON, without the members that the spec does not know. */
  readonly json: string;
  readonly warnings: readonly Finding[];
}

/**
 * Merges a host's overrides into the `master.ign` of a single-node cluster. There is no Machine Config
 * Server to point to, so the host's pointer (`ignition.config`) is dropped. Any two specs from 3.0 to
 * 3.5 will do; the result has the higher one.
 *
 * @throws AgentError as `parseConfig`, and `ignition.merge-invalid` for a result that breaks a rule
 */
export function mergeSingleNode({ master, host }: SingleNodeInput): SingleNodeConfig {
  const base = parseValidConfig(master);
  const overrides = parseValidConfig(host);
  const merged = mergeConfigs(base.config, withoutPointer(overrides.config));
  const findings = refuseErrors(validateConfig(merged), 'ignition.merge-invalid');
  return {
    config: merged,
    json: renderConfig(merged),
    warnings: [...base.warnings, ...overrides.warnings, ...findings],
  };
}

function withoutPointer(config: Config): Config {
  const members = Object.entries(config.ignition).filter(([name]) => name !== 'config');
  // Only an optional member was taken out.
  return { ...config, ignition: Object.fromEntries(members) as unknown as Ignition };
}
