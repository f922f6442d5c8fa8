// Whether a virtual machine runs what was built for it.
import { proofLine } from '../../../test/guest/install/ignition.ts';
import type { HostReport } from '../report.ts';
import { doubtsAbout } from './first-report.ts';

/** What was built, and what the machine said of itself at its first start. */
interface BuiltFor {
  /** As nodes know it; undefined when it never came. */
  readonly image: string | undefined;
  readonly firstReport: string;
}

/** How an installed machine differs from one that booted once, straight into the image that was built for it. */
export function differencesFromBuilt(
  { name, boots, system }: Pick<HostReport, 'name' | 'boots' | 'system'>,
  { image, firstReport }: BuiltFor,
): readonly string[] {
  const doubts = doubtsAbout(firstReport, { hostname: name, proof: proofLine });
  return [
    ...(image === undefined ? ['no image was built'] : []),
    ...(image === undefined || system === image
      ? []
      : [`${name}: runs ${system ?? 'nothing that it names'} instead of ${image}`]),
    ...(boots === 1 ? [] : [`${name}: ${boots} boots instead of 1`]),
    ...doubts.map((doubt) => `${name}: ${doubt}`),
  ];
}
