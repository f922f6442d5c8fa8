import { osFailure } from './failures.ts';
import { type Argv, changedArguments, type OsDriver, type StageRequest } from './driver.ts';
import {
  nextOf,
  type OrderedDeployment,
  type OsDeployment,
  type OsStatus,
  readOrigin,
  referenceIn,
  renderOrigin,
  statusOf,
} from './status.ts';

/**
 * Makes /sysroot and /boot writable for one command and whatever it starts, and for nobody else:
 * with `sysroot.readonly` the host has them read-only, and `ostree container` does not remount them
 * itself. It is a shell because it takes several commands in one mount namespace that is gone with
 * the last of them, however it ends; the script is fixed, and the command comes as `"$@"`.
 */
export const writableArgv = (command: Argv): Argv => [
  ...['unshare', '--mount', 'sh', '-c'],
  [
    'for place in /sysroot /boot; do',
    'if mountpoint -q "$place"; then mount -o remount,rw "$place" || exit; fi;',
    'done; exec "$@"',
  ].join(' '),
  'sh',
  ...command,
];

const manifestDigestArgv = (checksum: string): Argv => [
  ...['ostree', 'show', '--repo=/ostree/repo', '--print-metadata-key=ostree.manifest-digest'],
  checksum,
];

/** ostree alone, with its command `container`: for hosts that have neither bootc nor rpm-ostree. */
export const plainOstree: OsDriver = {
  name: 'ostree',
  statusArgv: ['ostree', 'admin', 'status'],
  detailArgvs: (status) =>
    linesOf(status).flatMap(({ stateroot, id, checksum }) => [
      ['cat', `/ostree/deploy/${stateroot}/deploy/${id}.origin`],
      manifestDigestArgv(checksum),
    ]),
  readStatus: readOstreeStatus,
  stageArgvs: stageWithOstree,
  rollbackArgvs: ({ rollback }) =>
    rollback?.index === undefined
      ? []
      : [writableArgv(['ostree', 'admin', 'set-default', String(rollback.index)])],
  dropNextArgvs: (status) => {
    const index = nextOf(status)?.index;
    return index === undefined ? undefined : [undeployArgv(index)];
  },
  cleanArgvs: cleanWithOstree,
};

const undeployArgv = (index: number): Argv =>
  writableArgv(['ostree', 'admin', 'undeploy', String(index)]);

/**
 * Deployments of another stateroot are another system's, and pinned ones are somebody's wish. The
 * last goes first, so that the places of those before it stay.
 */
function cleanWithOstree({ booted, others }: OsStatus): readonly Argv[] {
  const old = others
    .filter(({ isPinned, stateroot }) => !isPinned && stateroot === booted?.stateroot)
    .flatMap(({ index }) => (index === undefined ? [] : [index]))
    .sort((one, other) => other - one);
  // Below /sysroot there is no /boot: ostree would see no deployment there, and forget the images of all.
  const prune = ['ostree', 'container', 'image', 'prune-images', '--sysroot=/', '--full'];
  return [...old.map(undeployArgv), writableArgv(prune)];
}

/** One `--karg` replaces the whole list (seen with ostree-ext 0.15.3), so all of them are given. */
function stageWithOstree(request: StageRequest): readonly Argv[] {
  const { kernelArguments, present, kind, image, verification } = request;
  if (kind === 'keep' && kernelArguments === undefined) return [];
  if (kernelArguments !== undefined && present === undefined) {
    throw osFailure(
      'os.kernel-arguments-unsupported',
      'no boot loader entry matches the running system',
    );
  }
  const all =
    kernelArguments === undefined ? [] : changedArguments(present ?? [], kernelArguments).all;
  return [
    writableArgv([
      ...['ostree', 'container', 'image', 'deploy', '--sysroot', '/'],
      ...(request.stateroot === undefined ? [] : ['--stateroot', request.stateroot]),
      ...['--imgref', renderOrigin(image, verification)],
      ...all.flatMap((argument) => ['--karg', argument]),
    ]),
  ];
}

interface StatusLine {
  readonly isBooted: boolean;
  readonly stateroot: string;
  /** `CHECKSUM.SERIAL` */
  readonly id: string;
  readonly checksum: string;
  /** `staged`, `pending`, `rollback` and the like. */
  readonly mark: string;
  readonly version?: string;
  readonly isPinned: boolean;
}

/**
 * `ostree admin status`: a line for each deployment in the order of the boot loader,
 * `* STATEROOT CHECKSUM.SERIAL (MARK)`, and indented lines with details of it.
 */
function linesOf(status: string): readonly StatusLine[] {
  const found: { head: RegExpExecArray; more: string[] }[] = [];
  for (const line of status.split('\n')) {
    // The adapter trims the output, so the first line may have lost its blanks.
    const head = /^([*-]?) {0,2}(\S+) ([0-9a-f]{64})\.(\d+)(?: \((.*)\))?$/.exec(line);
    if (head === null) found.at(-1)?.more.push(line.trim());
    else found.push({ head, more: [] });
  }
  return found.map(({ head, more }) => {
    const [, star, stateroot = '', checksum = '', serial = '', mark = ''] = head;
    const version = more.find((line) => line.startsWith('Version: '))?.slice('Version: '.length);
    return {
      isBooted: star === '*',
      stateroot,
      checksum,
      id: `${checksum}.${serial}`,
      mark,
      ...(version === undefined ? {} : { version }),
      isPinned: more.includes('Pinned: yes'),
    };
  });
}

function readOstreeStatus(status: string, details: readonly string[]): OsStatus {
  const lines = linesOf(status);
  if (!lines.some(({ isBooted }) => isBooted)) {
    throw osFailure('os.status-not-read', 'ostree admin status names no booted deployment');
  }
  return statusOf(
    lines.map((line, index): OrderedDeployment => {
      const [origin = '', digest = ''] = details.slice(index * 2, index * 2 + 2);
      return {
        deployment: { ...deploymentOf(line, origin, digest), index },
        isBooted: line.isBooted,
        isStaged: line.mark.startsWith('staged'),
      };
    }),
  );
}

function deploymentOf(line: StatusLine, originFile: string, metadata: string): OsDeployment {
  const reference = referenceIn(originFile);
  const origin = reference === undefined ? undefined : readOrigin(reference);
  // A GVariant as text: 'sha256:…' in quotes.
  const digest = /sha256:[0-9a-f]{64}/.exec(metadata)?.[0];
  return {
    ...(origin === undefined ? {} : { image: origin.spec }),
    ...(digest === undefined ? {} : { digest }),
    checksum: line.checksum,
    ...(line.version === undefined ? {} : { version: line.version }),
    stateroot: line.stateroot,
    isPinned: line.isPinned,
    verification: origin?.verification ?? 'none',
  };
}
