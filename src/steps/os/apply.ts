import { minutes } from '../../model/duration.ts';
import { bootcRollbackArgv } from '../../os/bootc.ts';
import { decideRollback, describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { rpmOstreeRollbackArgv } from '../../os/rpm-ostree.ts';
import { nextOf, type OsStatus } from '../../os/status.ts';
import { planApply } from './check-image.ts';
import {
  ask,
  lockHost,
  machineConfigFile,
  readHost,
  readStatus,
  runCommands,
} from './read-host.ts';
import type { CommandScope, OsSnapshot } from './request.ts';
import { checkFreeSpace } from './room.ts';
import { dropNextBoot, removeOldImages, stagePlanned, verifyPlanned } from './stage.ts';

/**
 * Switches a running node to another image, and reboots it if requested. The same command completes
 * a run that was stopped at any point. The lock ends with the process.
 * @returns whether the host reboots
 * @throws AgentError `os.*`, `command.*`
 */
export async function applyImage(scope: CommandScope): Promise<boolean> {
  await lockHost(scope);
  const snapshot = await inspectHost(scope);
  const status = await stageImage(scope, snapshot);
  if (scope.config.records) await recordImage(scope, status);
  return rebootHost(scope, status);
}

/**
 * Rolls a running node back to the previous deployment. The lock ends with the process.
 * @returns whether the host reboots
 * @throws AgentError `os.*`, `command.*`
 */
export async function applyRollback(scope: CommandScope): Promise<boolean> {
  await lockHost(scope);
  const snapshot = await inspectHost(scope);
  const { booted, staged, pending, rollback } = snapshot.status;
  const kind = decideRollback(snapshot.status);
  if (kind === 'drop-staged' && staged !== undefined) {
    scope.note('info', `${describe(staged)} was never booted and is discarded`);
    await dropNextBoot(scope, snapshot);
  }
  if (kind === 'swap') {
    const argv = snapshot.driver === 'bootc' ? bootcRollbackArgv : rpmOstreeRollbackArgv;
    await runCommands(scope, [argv]);
  }
  const status = await readStatus(scope, snapshot.driver);
  const wanted = { 'drop-staged': booted, queued: pending, swap: rollback }[kind];
  const next = nextOf(status) ?? status.booted;
  if (next === undefined || next.checksum !== wanted?.checksum) {
    const what = 'the host will not boot the deployment that it is rolled back to';
    const context = { wanted: wanted?.checksum ?? '', next: next?.checksum ?? 'nothing' };
    throw osFailure('os.not-staged', what, { context });
  }
  scope.note('info', `${describe(next)} boots next`, { checksum: next.checksum });
  return rebootHost(scope, status);
}

async function inspectHost(scope: CommandScope): Promise<OsSnapshot> {
  const snapshot = await readHost(scope, scope.config.kernelArguments);
  const { driver, reason } = snapshot;
  scope.note('info', `the driver is ${driver}: ${reason}`, { driver });
  await checkOperator(scope);
  return snapshot;
}

/**
 * Stages an image for the next boot, and reads back the next deployment.
 * @throws AgentError `os.*`, `command.*`
 */
export async function stageImage(scope: CommandScope, snapshot: OsSnapshot): Promise<OsStatus> {
  const plan = await planApply(scope, snapshot);
  if (plan.kind === 'nothing') {
    const isNext = (snapshot.status.staged ?? snapshot.status.pending) !== undefined;
    scope.note('info', isNext ? 'this image boots next already' : 'the host runs this image');
  } else {
    await removeOldImages(scope, snapshot);
    await checkFreeSpace(scope, plan);
    await stagePlanned(scope, snapshot, plan);
  }
  return verifyPlanned(scope, snapshot, plan);
}

/**
 * Refuses a record on a node that the operator does not manage, and warns about a managed node
 * without a record: the operator and the image may differ.
 * @throws AgentError `os.not-operators`
 */
async function checkOperator(scope: CommandScope): Promise<void> {
  const { records } = scope.config;
  const isOperators = (await ask(scope, ['test', '-e', machineConfigFile])) !== undefined;
  if (records && !isOperators)
    throw osFailure('os.not-operators', `${machineConfigFile} is not on this host`);
  if (records || !isOperators) return;
  scope.note(
    'warn',
    'the Machine Config Operator manages this node: it marks the node degraded, or moves it back, unless its MachineConfig names the same image',
  );
}

/** The file that the Machine Config Daemon reads at its start: only a pull spec. */
export const recordPath = '/etc/machine-config-daemon/currentimage';

/**
 * Records the image as the wanted one of the node, once it is the next or the running deployment.
 */
async function recordImage(
  { host, signal, note, config: { image } }: CommandScope,
  status: OsStatus,
): Promise<void> {
  // At shutdown the staged deployment gets its /etc from the running one, which is written here.
  if (nextOf(status) !== undefined && status.staged === undefined)
    throw osFailure('os.record-lost', `${image} boots next with its own /etc`);
  if ((await host.readText(recordPath, signal)) === image) {
    note('info', 'the image is recorded already');
    return;
  }
  await host.writeFile(recordPath, image, { signal, mode: 0o644 });
  note('info', `${image} is recorded for the Machine Config Daemon`, { path: recordPath });
}

/** Restarts the host; at shutdown ostree writes the staged deployment to the boot loader. */
export const restartArgv = ['systemctl', 'reboot'] as const;

/** Restarts the host if requested and if it changes the running system. */
async function rebootHost(
  { host, signal, note, config }: CommandScope,
  status: OsStatus,
): Promise<boolean> {
  if (!config.reboots) return false;
  if (nextOf(status) === undefined) {
    note('info', 'the host already runs what it boots next');
    return false;
  }
  await host.exec(restartArgv, { signal, limit: minutes(2) });
  return true;
}
