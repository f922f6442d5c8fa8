// What an installed system says of itself at its first start.

/** What has to stand in the report. */
interface Expected {
  readonly hostname: string;
  /** The line of the unit that came with the Ignition. */
  readonly proof: string;
}

const valueOf = (report: string, fact: string): string | undefined =>
  new RegExp(`^LABCOREOS ${fact}: (.*)$`, 'm').exec(report)?.[1];

/** How often the system has started from this disk; undefined when it does not say. */
export function startsIn(report: string): number | undefined {
  const starts = Number(valueOf(report, 'boots'));
  return Number.isInteger(starts) && starts > 0 ? starts : undefined;
}

/** The image that the system was deployed from; undefined when it does not say. */
export const originIn = (report: string): string | undefined =>
  valueOf(report, 'origin')?.replace(/^ostree-[a-z-]+:/, '');

/** What in the report of a first start is not as it should be. */
export function doubtsAbout(report: string, { hostname, proof }: Expected): readonly string[] {
  const name = valueOf(report, 'hostname') ?? 'nothing';
  const commandLine = valueOf(report, 'cmdline') ?? '';
  return [
    ...(report.split('\n').includes(proof) ? [] : ['its Ignition was not applied']),
    ...(name === hostname ? [] : [`it calls itself ${name}`]),
    ...(commandLine.includes('ignition.firstboot') ? [] : ['it was not its first boot']),
  ];
}
