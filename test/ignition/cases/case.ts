import type { FindingRule } from '../../../src/ignition/finding.ts';

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

/** Sections with one file at /a. */
export const file = (members: object): object => ({
  storage: { files: [{ path: '/a', ...members }] },
});

/** Sections with one unit. */
export const unit = (members: object): object => ({
  systemd: { units: [{ name: 'a.service', ...members }] },
});

/** A storage section. */
export const storage = (members: object): object => ({ storage: members });

/** Members of the ignition section. */
export const ignition = (members: object): object => ({ ignition: members });
