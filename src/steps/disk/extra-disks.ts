import type { StepScope } from '../step.ts';
import { renderHolding, holdingsOf } from './holders.ts';
import type { BlockDevice } from './lsblk.ts';
import { deviceAt, disksUnder, isNamed } from './tree.ts';

/** A further disk that may be formatted, or why it may not. */
export type ExtraDisk =
  | { readonly kind: 'format'; readonly asked: string; readonly device: BlockDevice }
  | { readonly kind: 'missing'; readonly asked: string }
  | { readonly kind: 'refused'; readonly asked: string; readonly because: string };

/** What decides over a further disk. */
export interface ExtraDiskQuestion {
  /** As it was given. */
  readonly asked: string;
  /** With every link followed. */
  readonly real: string;
  /** The install disk. */
  readonly target: BlockDevice;
}

/**
 * Whether a further disk may lose its partition tables. Not when it is the install disk under
 * another name, or below it, nor when anything of the running system is on it.
 */
export function judgeExtraDisk(
  roots: readonly BlockDevice[],
  { asked, real, target }: ExtraDiskQuestion,
): ExtraDisk {
  const device = deviceAt(roots, real);
  if (device === undefined) return { kind: 'missing', asked };
  const isTarget =
    isNamed(target, `/dev/${device.kname}`) ||
    disksUnder(roots, target).some(({ kname }) => kname === device.kname) ||
    disksUnder(roots, device).some(({ kname }) => kname === target.kname);
  if (isTarget) return { kind: 'refused', asked, because: 'it is the install disk' };
  if (device.isReadOnly) return { kind: 'refused', asked, because: 'it is read-only' };
  const used = holdingsOf(device).find(({ kind }) => ['live', 'mount', 'swap'].includes(kind));
  if (used === undefined) return { kind: 'format', asked, device };
  return { kind: 'refused', asked, because: renderHolding(used) };
}

/** Judges each further disk of the configuration. */
export async function extraDisks(
  { host, config, signal }: StepScope<'host'>,
  roots: readonly BlockDevice[],
  target: BlockDevice,
): Promise<readonly ExtraDisk[]> {
  const judged: ExtraDisk[] = [];
  for (const asked of config.disk.format) {
    const real = (await host.realPath(asked, signal)) ?? asked;
    judged.push(judgeExtraDisk(roots, { asked, real, target }));
  }
  return judged;
}
