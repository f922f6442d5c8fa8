import type { FindingRule } from '../../finding.ts';

/** A config, and what becomes of it; read by the unit tests and by the comparison with Ignition. */
export interface ValidationCase {
  readonly name: string;
  /** JSON text, or the sections of a config. */
  readonly config: string | object;
  /** Minor of the spec for a config given as sections; 3 (spec 3.3.0) if not given. */
  readonly minor?: number;
  /** The rules that are broken, whatever their severity; none for a sound config. */
  readonly rules?: readonly FindingRule[];
  /** For what cannot be read as a config at all. */
  readonly code?: string;
  /** What Ignition before 2.15 did not check yet. */
  readonly isNewRule?: boolean;
}

/** The JSON text of a case. */
export function textOfCase({ config, minor = 3 }: ValidationCase): string {
  if (typeof config === 'string') return config;
  const { ignition: general, ...sections } = config as { ignition?: object };
  return JSON.stringify({ ignition: { version: `3.${minor}.0`, ...general }, ...sections });
}
