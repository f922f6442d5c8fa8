import type { OsSnapshot } from '../../../src/steps/os/request.ts';
import type { Job } from '../rig/live-guest.ts';
import type { DiskBoot } from './first-boot.ts';
import { putRpmOstree, rpmOstreeFiles } from '../rig/rpm-ostree.ts';
import type { FailingImages, LayeredImages } from './layered-images.ts';

/** The output of the commands that change a node, with `--format json`. */
type PrintedStatus = OsSnapshot['status'] &
  Pick<OsSnapshot, 'driver'> & { readonly kernelArguments: readonly string[] };

/** One command of a node in a guest. */
interface NodeCommand {
  readonly exitCode: number;
  readonly seconds: number;
  readonly stdout: string;
  /** The log. */
  readonly stderr: string;
}

/** The output of the job of one boot of a node. */
interface NodeAccount {
  readonly commands: readonly NodeCommand[];
  /** Mount points with `ro` or `rw`, once commands had run. */
  readonly mounts: readonly string[];
  /** Images that ostree keeps, each time that they were looked at. */
  readonly images: readonly (readonly string[])[];
  /**
   * The next boot of the node, at each check: the entries of the boot loader and
   * the origins.
   */
  readonly next: readonly string[];
  /** The image that the daemon would find in its record. */
  readonly record: string | undefined;
}

/** Each command is printed in one line: kernel and systemd may write between lines. */
const printing = `node() {
  code=0
  begun=$(date +%s%N)
  run-agent /usr/bin/installer node "$@" > /run/node-output 2> /run/node-log || code=$?
  echo "NODE-COMMAND $code $((($(date +%s%N) - begun) / 1000000)) $(base64 -w0 /run/node-output) $(base64 -w0 /run/node-log)"
}
images() { echo "NODE-IMAGES $(ostree container image list --repo /ostree/repo | paste -sd' ')"; }
next() { echo "NODE-NEXT $( (cat /boot/loader/entries/* /ostree/deploy/*/deploy/*.origin; ls /run/ostree) | base64 -w0)"; }
mounts() { awk '$2 == "/sysroot" || $2 == "/boot" { print "NODE-MOUNT " $2 " " substr($4, 1, 2) }' /proc/self/mounts; }`;

const job = (...lines: readonly string[]): Job => ({
  script: [putRpmOstree, printing, ...lines].join('\n'),
  files: rpmOstreeFiles,
});

/**
 * Orders images that the node cannot get; there is no room for the first, as long as a file takes
 * it.
 */
const failToMove = ({ foreign, sound, cut }: FailingImages): readonly string[] => [
  'next',
  'fallocate --length $(($(df --output=avail --block-size=1 /var | tail -n 1) - 100000000)) /var/filler',
  `node apply ${sound}`,
  'rm /var/filler',
  `node apply ${foreign}`,
  `node apply ${cut}`,
  'next',
];

/**
 * Orders what cannot be had; then stages the second image with a kernel argument more, records it,
 * and restarts.
 */
export const moveNode = ({ second, failing, before }: LayeredImages): Job =>
  job(
    before,
    ...failToMove(failing),
    `node apply ${second.image} --append-karg lab.node=yes --record --format json`,
    'mounts',
    'systemctl reboot',
  );

/** Stages the first image, drops it, and rolls back to it. */
export const takeNodeBack = ({ final, second }: LayeredImages): Job =>
  job(
    `node apply ${second.image} --format json`,
    'echo "NODE-RECORD $(cat /etc/machine-config-daemon/currentimage)"',
    'images',
    `node apply ${final.image} --format json`,
    'images',
    'node rollback --format json',
    'node rollback --reboot',
  );

const decoded = (text: string): string => Buffer.from(text, 'base64').toString();

/** The parsed output of the job of a boot. */
export const readNode = ({ report }: DiskBoot): NodeAccount => ({
  commands: [...report.matchAll(/^NODE-COMMAND (\d+) (\d+) (\S*) (\S*)$/gm)].map(
    ([, code, millis, stdout = '', stderr = '']) => ({
      exitCode: Number(code),
      seconds: Number(millis) / 1000,
      stdout: decoded(stdout),
      stderr: decoded(stderr),
    }),
  ),
  mounts: [...report.matchAll(/^NODE-MOUNT (.*)$/gm)].map(([, mount = '']) => mount),
  record: /^NODE-RECORD (.*)$/m.exec(report)?.[1],
  next: [...report.matchAll(/^NODE-NEXT (\S*)$/gm)].map(([, text = '']) => decoded(text)),
  images: [...report.matchAll(/^NODE-IMAGES (.*)$/gm)].map(([, list = '']) => list.split(' ')),
});

/** The status that a command printed. */
export const statusIn = (command: NodeCommand | undefined): PrintedStatus =>
  JSON.parse(command?.stdout ?? '') as PrintedStatus;
