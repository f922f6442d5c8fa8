import { coreOsNode } from './core-os-node.ts';
import { type FakeHost, rest } from './fake-host.ts';
import { recorded } from './os-samples.ts';

/** Recorded answers of bootc by file name. */
export const bootcSaid = (name: string): string => recorded(`bootc-1.16.9/${name}`);

/** The images of the recordings. */
export const recordedImages = {
  one: '10.0.2.2:5000/lab/os:1',
  two: '10.0.2.2:5000/lab/os:2',
  three: '10.0.2.2:5000/lab/os:3',
  bound: '10.0.2.2:5000/lab/os:6',
} as const;

const required = '/run/reboot-required';

/** A command of bootc, and the state of the host after it. */
interface RecordedCommand {
  readonly argv: readonly string[];
  /** Status after the command; default: unchanged. */
  readonly after?: string;
  /** Standard error of a failing command. */
  readonly error?: string;
  readonly required?: string;
}

/**
 * A host booted by bootc, in a recorded state. Its commands only do what was recorded, and other
 * commands are unknown. There is no skopeo, so bootc's own answers count.
 */
export function bootcNode(state: string, commands: readonly RecordedCommand[] = []): FakeHost {
  const { host } = coreOsNode();
  let status = state;
  host
    .on(['bootc', rest])
    .answers((argv) => {
      throw new Error(`not recorded: ${argv.join(' ')}`);
    })
    .on(['bootc', 'status', rest])
    .answers(() => bootcSaid(`status-${status}.json`))
    .on(['rpm-ostree', rest])
    .isMissing()
    .on(['skopeo', rest])
    .isMissing();
  for (const { argv, after, error, required: text } of commands)
    host.on(argv).answers(() => {
      status = after ?? status;
      if (text !== undefined) host.withFile(required, text);
      return error === undefined ? {} : { exitCode: 1, stderr: bootcSaid(error) };
    });
  if (state === 'staged' || state === 'locked')
    host.withFile(required, bootcSaid('reboot-required.txt'));
  return host;
}

/** `bootc switch` to an image. */
export const switchTo = (image: string): readonly string[] => [
  ...['bootc', 'switch', '--quiet', '--transport', 'registry', image],
];

/** Drops the staged deployment. */
export const undeploy = ['ostree', 'admin', 'undeploy', '0'] as const;

/** Writes boot loader entries, each with the deployment that it boots. */
export function withEntries(host: FakeHost, order: 'booted2' | 'swapped'): FakeHost {
  const checksum = '1e898fe594a5ae8bc360cb325ef0ed9839340541cc2b7430e7a58c7e72484741';
  const boot = `/ostree/boot.${order === 'swapped' ? 1 : 0}/default/${checksum}`;
  const deployment = (commit: string): string =>
    `/sysroot/ostree/deploy/default/deploy/${commit}.0`;
  const one = '5b8cdf0c70c245b3a54a2b7dd4ca7431f8efb95d9b9e3649397330a7e05376e7';
  const two = 'c9a83bf7ee63fc5d55017279ba207bee19eb9fe7f8fb3d36be813665d31fa790';
  const links = order === 'swapped' ? [one, two] : [two, one];
  for (const [at, commit] of links.entries())
    host.withLink(`${boot}/${at}`, deployment(commit)).withFile(deployment(commit), '');
  for (const at of [0, 1])
    host.withFile(
      `/boot/loader/entries/ostree-${at + 1}.conf`,
      bootcSaid(`entry-${order}-${at}.conf`),
    );
  return host.withFile('/proc/cmdline', `${bootcSaid('cmdline.txt')}\n`);
}
