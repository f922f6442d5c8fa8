import { ignitionFailure } from './failures.ts';

/** Minor number of a spec 3.x version: 4 for 3.4.0. */
export type SpecMinor = number;

/** The newest spec that is understood, 3.5.0 (Ignition 2.20). */
export const NEWEST_MINOR: SpecMinor = 5;

/** The version string of a spec: 4 gives `3.4.0`. */
export const specVersion = (minor: SpecMinor): string => `3.${minor}.0`;

interface Semver {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Pre-release and build part, with its sign: `-experimental`. */
  readonly suffix: string;
}

function parseSemver(text: string): Semver | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)((?:-[\w.-]+)?(?:\+[\w.-]+)?)$/u.exec(text);
  if (match === null) return undefined;
  const [, major, minor, patch, suffix = ''] = match;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), suffix };
}

/** A spec version by which a config can be read. */
interface ReadableSpec {
  readonly minor: SpecMinor;
  /** The config is of a later spec 3.x than `minor`, the newest that is understood. */
  readonly isNewer: boolean;
}

/**
 * Reads `ignition.version`. Only stable specs from 3.0.0 on are accepted: Ignition compares the
 * version for equality, so `3.6.0-experimental`, `3.2.1` and `3.2.0+build` are no version it knows.
 * Specs 3.x only add keys; whether the Ignition of the image knows a later one is for that to say.
 *
 * @throws AgentError `ignition.no-version`, `ignition.spec-2`, `ignition.version-unsupported`
 */
export function readSpec(version: unknown): ReadableSpec {
  const parsed = typeof version === 'string' ? parseSemver(version) : undefined;
  if (parsed === undefined) {
    throw ignitionFailure('ignition.no-version', 'ignition config has no readable spec version');
  }
  if (parsed.major < 3) {
    throw ignitionFailure('ignition.spec-2', 'ignition config has an outdated spec version', {
      context: { version: version as string },
    });
  }
  const isStable = parsed.major === 3 && parsed.patch === 0 && parsed.suffix === '';
  if (!isStable) throw unsupported(version);
  return { minor: Math.min(parsed.minor, NEWEST_MINOR), isNewer: parsed.minor > NEWEST_MINOR };
}

/**
 * The spec version of a config that is written again, which would lose what is not understood of
 * it: 3.0.0 to 3.5.0.
 *
 * @throws AgentError as `readSpec`, and `ignition.version-unsupported` for a later one
 */
export function readSpecVersion(version: unknown): SpecMinor {
  const { minor, isNewer } = readSpec(version);
  if (isNewer) throw unsupported(version);
  return minor;
}

const unsupported = (version: unknown): Error =>
  ignitionFailure(
    'ignition.version-unsupported',
    'ignition config has an unsupported spec version',
    { context: { version: String(version) } },
  );
