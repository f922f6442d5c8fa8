import type { Sight } from '../../../src/steps/os/facts.ts';
import { startDiskJob } from './disk-host.ts';
import type { ServedOs } from './final-os.ts';
import { deadlineSeconds, type PlayStage } from './stage.ts';

/** What `node status --format json` prints. */
export type PrintedStatus = Sight['status'] &
  Pick<Sight, 'driver'> & { readonly kernelArguments: readonly string[] };

/** One command of a node in a guest. */
export interface NodeCommand {
  readonly exitCode: number;
  readonly stdout: string;
  /** The log. */
  readonly stderr: string;
}

/** What the commands of one boot said, in their order. */
export type NodeBoot = readonly NodeCommand[];

const status = 'node status --format json';

/** Bash that runs a command and tells what it printed, how it ended, and what it logged. */
const tell = (words: string): string =>
  [
    'echo NODE-COMMAND',
    `run-agent /usr/bin/installer ${words} 2> /tmp/node-log`,
    'code=$?',
    'echo "NODE-EXIT $code"',
    'cat /tmp/node-log',
    'echo NODE-END',
  ].join('\n');

/** Bash that tells the status of the host. */
export const tellStatus = tell(status);

/**
 * BIOS. The host that runs from the disk is moved to a container image with a kernel argument more,
 * and taken back: two boots here, and what the third one runs is for the next play to tell.
 */
export async function playNode(
  target: string,
  { folder, agentDisk }: PlayStage,
  finalOs: ServedOs,
): Promise<readonly NodeBoot[]> {
  const apply = `node apply ${finalOs.image}`;
  const jobs = [
    [
      finalOs.before,
      ...[status, `${apply} --append-karg lab.node=yes`, status, `${apply} --reboot`].map(tell),
    ],
    [status, 'node rollback', 'node rollback --reboot'].map(tell),
  ];
  const boots: NodeBoot[] = [];
  for (const [index, lines] of jobs.entries()) {
    const disks = { target, agentDisk };
    const job = { script: lines.join('\n') };
    await using guest = await startDiskJob({ disks, job }, folder, `node-${index + 1}`);
    await guest.ended(deadlineSeconds);
    boots.push(readNodeBoot(guest.job.text()));
  }
  return boots;
}

/** The commands that the job of one boot told of. */
export const readNodeBoot = (log: string): NodeBoot =>
  [...log.matchAll(/^NODE-COMMAND\n(.*?)^NODE-EXIT (\d+)\n(.*?)^NODE-END$/gms)].map(
    ([, stdout = '', code, stderr = '']) => ({ exitCode: Number(code), stdout, stderr }),
  );

/** The status that a command printed. */
export const statusIn = (command: NodeCommand | undefined): PrintedStatus =>
  JSON.parse(command?.stdout ?? '') as PrintedStatus;
