import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { minutes } from '../../model/duration.ts';
import { knowsHost, writesDisk } from '../conditions.ts';
import { findPartition } from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { readTarget } from '../disk/target.ts';
import { diskMounts } from '../image/disk-mounts.ts';
import { IronicAgent, rebootInfo } from './finish.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { LogUpload } from '../logs/logs.ts';

const rootMount = '/mnt/bootwright-root';

/**
 * At the top of the root file system, which is `/sysroot` on the node, as CoreOS itself keeps
 * `/sysroot/.coreos-aleph-version.json`. A partition at /var could hide a directory below it.
 */
const keptFolder = `${rootMount}/bootwright`;

/**
 * Number of characters that are kept from the end of the log: the root file system is small before
 * its first boot.
 */
const longestLog = 8 * 1024 * 1024;

/**
 * Reports the reboot of this host, and saves on the written disk everything that the service has
 * not accepted: the live system and its logs end in a moment. The step neither delays nor fails the
 * installation.
 */
export const keepUnreported = step({
  id: 'finish/keep-unreported',
  title: 'Save unsent reports and logs on the install disk',
  stage: 'Rebooting',
  stageInfo: rebootInfo,
  uses: ['host', 'reports', 'clock'],
  needs: { disk: TargetDisk, ironic: IronicAgent, upload: LogUpload },
  when: all(knowsHost, writesDisk),
  limit: minutes(10),
  explain: () => 'only if the service did not accept a report or the logs',
  preview: () => callsOf('fsfreeze', 'install', 'lsblk', 'mkdir', 'mount', 'umount'),
  run: async (scope, { disk, upload }) => {
    const { reports, signal, note } = scope;
    const { unanswered } = await reports.flush(signal);
    signal.throwIfAborted();
    if (unanswered.length === 0 && upload.isTaken) return;
    const stages = unanswered.map(({ stage }) => stage).join(', ');
    const fields = { stages, areLogsUploaded: upload.isTaken };
    try {
      await keep(scope, disk, recordOf(scope, { unanswered, ...upload }));
      note('warn', 'saved unsent reports and logs in /sysroot/bootwright of the node', fields);
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      const lost = 'could not save unsent reports and logs; they are lost with the reboot';
      note('warn', lost, { ...fields, code, reason: message });
    }
  },
});

type KeepScope = StepScope<'host' | 'reports' | 'clock'>;

/**
 * The data with which a person, or a program on the node, can report this host later. It contains
 * no secret.
 */
function recordOf(
  { config: { cluster, service }, clock }: KeepScope,
  { unanswered, isTaken }: { unanswered: readonly object[]; isTaken: boolean },
): string {
  const record = {
    at: new Date(clock.now()).toISOString(),
    service: String(service.url),
    clusterId: cluster.id,
    infraEnvId: cluster.infraEnvId,
    hostId: cluster.hostId,
    unreported: unanswered,
    areLogsUploaded: isTaken,
  };
  return `${JSON.stringify(record, undefined, 2)}\n`;
}

async function keep(scope: KeepScope, target: TargetDisk, record: string): Promise<void> {
  const { host, signal, config } = scope;
  const disk = await readTarget(host, target, signal);
  await removeStaleMounts(scope, disk, [rootMount]);
  await host.exec(['mkdir', '-p', rootMount], { signal, limit: minutes(2) });
  const mounts = diskMounts(scope);
  await mounts.mount(findPartition(disk, 'root').path, rootMount);
  const makeFolderArgv = ['install', '--directory', '--mode=0700', keptFolder];
  await host.exec(makeFolderArgv, { signal, limit: minutes(2) });
  const log = await host
    .readText(config.log.file, signal)
    .catch((error: unknown) => asAgentError(error).message);
  for (const [name, text] of [
    ['unreported.json', record],
    ['installer.log', log?.slice(-longestLog) ?? ''],
  ] as const) {
    await host.writeFile(`${keptFolder}/${name}`, text, { signal, mode: 0o600 });
  }
  await mounts.unmount(rootMount);
}
