import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import {
  bootcArgumentsArgv,
  bootcDropArgv,
  bootcStageArgv,
  bootcUnlockArgv,
  isRequiredFor,
  rebootRequiredPath,
} from '../../os/bootc.ts';
import { describe, pullOf } from '../../os/decide.ts';
import { osFailure, type osFailures } from '../../os/failures.ts';
import { asksForChange, changedArguments } from '../../os/kernel-arguments.ts';
import { type PullErrorKind, readPullError, updateDriverIn } from '../../os/pull-failure.ts';
import {
  rpmOstreeCancelArgv,
  rpmOstreeChangeArgv,
  rpmOstreeCleanArgv,
  rpmOstreeDropArgv,
  rpmOstreeStageArgv,
} from '../../os/rpm-ostree.ts';
import { isSameDeployment, nextOf, type OsDeployment, type OsStatus } from '../../os/status.ts';
import type { HostScope } from '../step.ts';
import { stopStalled } from '../stop-stalled.ts';
import {
  ask,
  findAuthFile,
  linkAuthArgvs,
  readArguments,
  readOwnArguments,
  readStatus,
  runCommands,
  showLines,
} from './read-host.ts';
import { checkBootRoom } from './room.ts';
import type { ApplyPlan, CommandScope, DriverName, OsSnapshot } from './request.ts';

/**
 * Pulls and stages the image. Until the programs have finished, the host boots the same system as
 * before; the next pull uses the layers of a stopped one. A deployment that a failed command has
 * staged is dropped: bootc stages the image first and then pulls the images that are bound to it;
 * both programs prune at the end.
 * @throws AgentError `os.*`, `command.*`
 */
export async function stagePlanned(
  scope: CommandScope,
  snapshot: OsSnapshot,
  plan: ApplyPlan,
): Promise<void> {
  const auth = await findAuthFile(scope);
  const before = { staged: snapshot.status.staged };
  try {
    if (auth?.isKubelets === true) await runCommands(scope, linkAuthArgvs);
    if (dropsFirst(snapshot, plan)) {
      await dropNextBoot(scope, snapshot);
      before.staged = undefined;
    }
    await pullPlanned(scope, snapshot, plan);
    await changeArguments(scope, snapshot);
  } catch (error) {
    scope.signal.throwIfAborted();
    await dropFailed(scope, snapshot.driver, before.staged);
    throw stageFailure(error, scope.config.image);
  }
}

/** rpm-ostree has no command that unlocks a deployment, except one that reboots at once. */
const dropsFirst = ({ driver }: OsSnapshot, { kind }: ApplyPlan): boolean =>
  kind === 'restage' || (kind === 'unlock' && driver === 'rpm-ostree');

async function dropFailed(
  scope: CommandScope,
  driver: OsSnapshot['driver'],
  before: OsDeployment | undefined,
): Promise<void> {
  try {
    const status = await readStatus(scope, driver);
    if (status.staged === undefined || isSameDeployment(status.staged, before)) return;
    await dropNextBoot(scope, { driver, status });
    scope.note('info', `${describe(status.staged)} was staged by a command that failed: discarded`);
  } catch (error) {
    noteFailed(scope, 'what a failed command may have staged was not discarded', error);
  }
}

async function pullPlanned(
  scope: CommandScope,
  snapshot: OsSnapshot,
  plan: ApplyPlan,
): Promise<void> {
  const { driver, status } = snapshot;
  if (plan.kind === 'nothing' || plan.kind === 'keep') return;
  if (plan.kind === 'unlock' && driver === 'bootc') return runCommands(scope, [bootcUnlockArgv]);
  const { image } = scope.config;
  const { booted } = status;
  const verification = booted?.verification ?? 'none';
  if (verification === 'remote') {
    const what = 'the image is verified with the keys of an ostree remote';
    throw osFailure('os.signature-unsupported', what);
  }
  // The followed name was dropped together with the deployment.
  const kind =
    plan.kind === 'switch' || plan.kind === 'upgrade' ? plan.kind : pullOf({ booted }, image);
  const stageArgv = driver === 'bootc' ? bootcStageArgv : rpmOstreeStageArgv;
  await runPull(scope, driver, stageArgv(kind, { image, verification }));
}

/**
 * Kernel arguments are compared with the next boot right before the change: a pull takes long, and
 * brings the arguments of the followed image.
 */
async function changeArguments(scope: CommandScope, snapshot: OsSnapshot): Promise<void> {
  const { kernelArguments } = scope.config;
  if (!asksForChange(kernelArguments)) return;
  if (snapshot.driver === 'bootc') {
    const { all } = changedArguments(await readOwnArguments(scope, snapshot), kernelArguments);
    return runCommands(scope, [bootcArgumentsArgv(all)]);
  }
  const present = (await readArguments(scope, snapshot, 'next')) ?? [];
  const argv = rpmOstreeChangeArgv(present, kernelArguments);
  if (argv !== undefined) await runCommands(scope, [argv]);
}

/**
 * Makes the host boot the running deployment next. `/run/reboot-required`, which bootc wrote for
 * the dropped one, is removed too: kured would reboot the node.
 * @throws AgentError `os.drop-unsupported`
 */
export async function dropNextBoot(
  scope: Parameters<typeof runCommands>[0],
  { driver, status }: Pick<OsSnapshot, 'driver' | 'status'>,
): Promise<void> {
  if (driver === 'rpm-ostree') return runCommands(scope, [rpmOstreeDropArgv(status)]);
  const argv = bootcDropArgv(status);
  if (argv === undefined) {
    const what = 'bootc cannot discard the staged deployment on this host';
    throw osFailure('os.drop-unsupported', what);
  }
  await runCommands(scope, [argv]);
  const { host, signal } = scope;
  const { booted, staged, pending } = status;
  const required = (await host.readText(rebootRequiredPath, signal)) ?? '';
  const digests = [booted, staged, pending].map((one) => one?.digest);
  if (isRequiredFor(required, digests)) await host.remove(rebootRequiredPath, signal);
}

const codes: Readonly<Record<PullErrorKind, keyof typeof osFailures>> = {
  'wrong-architecture': 'os.wrong-architecture',
  'no-room': 'os.no-space',
  'not-authorized': 'os.pull-denied',
  'not-found': 'os.image-not-found',
  'registry-unreachable': 'os.image-unreachable',
  'pull-cut': 'os.pull-cut',
};

/** The failure of a staging. Errors other than a failed pull, such as a stop, stay unchanged. */
function stageFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const stderr = String(error.context['stderr'] ?? '');
  const driver = updateDriverIn(stderr);
  if (driver !== undefined)
    return osFailure('os.update-driver', `updates of this host are driven by ${driver}`, { cause });
  const { kind, cause: said, bound } = readPullError(stderr);
  if (kind === undefined) return error;
  const failed = bound === undefined ? image : `${bound}, which is bound to ${image}`;
  const context = { image: bound ?? image };
  return osFailure(codes[kind], `${failed}: ${said ?? error.message}`, { cause, context });
}

/**
 * Removes unreferenced remains of earlier images before a new one is pulled. The running, the
 * rollback and pinned deployments stay. A failure is a warning: the image may still fit.
 */
export async function removeOldImages(scope: CommandScope, snapshot: OsSnapshot): Promise<void> {
  try {
    // Each switch and upgrade of bootc removes the images without a deployment.
    if (snapshot.driver === 'rpm-ostree') await runCommands(scope, [rpmOstreeCleanArgv]);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    scope.note('warn', `earlier images were not removed: ${error.message}`, { code: error.code });
  }
}

/**
 * Reads back the next deployment. One that does not fit into /boot is dropped: it would fail at
 * shutdown, with the node drained.
 * @throws AgentError `os.not-staged`, `os.no-space`
 */
export async function verifyPlanned(
  scope: CommandScope,
  snapshot: OsSnapshot,
  plan: ApplyPlan,
): Promise<OsStatus> {
  const { driver } = snapshot;
  const status = await readStatus(scope, driver);
  const next = checkNext(scope, status, { before: nextOf(snapshot.status), plan });
  try {
    if (next !== undefined && isSameDeployment(next, status.staged))
      await checkBootRoom(scope, { ...snapshot, status });
  } catch (error) {
    scope.signal.throwIfAborted();
    await dropNextBoot(scope, { driver, status });
    throw error;
  }
  return status;
}

/** Checks the next deployment if it is not the running one. */
function checkNext(
  { config: { image }, note }: CommandScope,
  status: OsStatus,
  { before, plan }: { readonly before: OsDeployment | undefined; readonly plan: ApplyPlan },
): OsDeployment | undefined {
  const another = nextOf(status);
  if (another === undefined && plan.kind === 'upgrade') {
    note('info', 'this image name points to no newer image');
    return undefined;
  }
  const next = plan.kind === 'nothing' ? (another ?? status.booted) : another;
  if (next?.image !== image) throw notStaged(image, next ?? status.booted);
  // A tag may have moved between the question to the registry and the pull; the previous next
  // deployment does not count.
  const { digest } = plan;
  if (digest !== undefined && next.digest !== undefined && digest !== next.digest) {
    if (before !== undefined && isSameDeployment(next, before))
      throw notStaged(`${image}, which is ${digest}`, { ...next, image: `${image} of before` });
    note('info', `${next.digest} boots next; the name pointed to ${digest} before`);
  }
  note('info', `${image} boots next`, { checksum: next.checksum });
  return another;
}

const notStaged = (image: string, next: OsDeployment | undefined): Error => {
  const found = next === undefined ? 'nothing known' : describe(next);
  return osFailure('os.not-staged', `${found} boots next, not ${image}`, {
    context: { wanted: image, next: found },
  });
};

/** A pull of a complete image over a slow connection. */
const pullLimit = minutes(60);

/** Time without progress after which a pull has stalled. */
const stallLimit = minutes(5);
const pollInterval: Millis = minutes(1);

/** Bytes that programs read and write while they only wait for a registry. */
const idleBytes = 64 * 1024;

/** Programs of a pull, with their arguments; rpm-ostree pulls in its daemon. */
const pullingArgv = [
  ...['pgrep', '--list-full', '--exact', 'bootc|ostree|podman|rpm-ostree|skopeo'],
] as const;

/**
 * Runs a command that pulls an image; its output is the step's progress. A stalled pull is stopped:
 * neither bootc nor rpm-ostree gives up on a registry that accepts the connection and sends
 * nothing.
 * @throws AgentError `os.pull-cut` after five minutes without a byte; `command.*`
 */
export async function runPull(
  scope: CommandScope,
  driver: DriverName,
  argv: readonly string[],
): Promise<void> {
  const { host, signal, progress } = scope;
  try {
    await stopStalled(
      signal,
      (until) => waitForStall(scope, until),
      (until) => host.exec(argv, { signal: until, limit: pullLimit, onLine: showLines(progress) }),
    );
  } catch (error) {
    const isStalled = asAgentError(error).code === 'os.pull-cut';
    // The daemon continues without its client.
    if (isStalled && driver === 'rpm-ostree') await ask(scope, rpmOstreeCancelArgv);
    throw error;
  }
}

/** Resolves once a pull stalls. */
async function waitForStall(scope: CommandScope, signal: AbortSignal): Promise<Error> {
  const { host, clock, note, config } = scope;
  let last = { bytes: Number.NEGATIVE_INFINITY, at: clock.elapsed() };
  try {
    for (;;) {
      await clock.sleep(pollInterval, signal);
      const bytes = await movedBytes({ host, signal });
      if (bytes === undefined || Math.abs(bytes - last.bytes) > idleBytes)
        last = { bytes: bytes ?? Number.NEGATIVE_INFINITY, at: clock.elapsed() };
      else if (clock.elapsed() - last.at >= stallLimit)
        return osFailure('os.pull-cut', `${config.image}: no byte came for five minutes`);
    }
  } catch (error) {
    // A failed question to the host is no sign of a stall.
    if (!signal.aborted) note('debug', 'the pull is not watched', { cause: String(error) });
    throw error;
  }
}

/** The programs that fetch an image for bootc and rpm-ostree, and those that fetch bound images. */
const fetching = /^\d+ \S*(?:skopeo experimental-image-proxy|podman .{0,500}\bpull )/;

/**
 * Bytes that the programs of a pull have read and written so far; undefined while none fetches from
 * a registry.
 */
async function movedBytes(scope: HostScope): Promise<number | undefined> {
  const { host, signal } = scope;
  const running = (await ask(scope, pullingArgv))?.split('\n') ?? [];
  if (!running.some((line) => fetching.test(line.trim()))) return undefined;
  let bytes = 0;
  for (const line of running) {
    const io = await host.readText(`/proc/${line.trim().split(' ')[0]}/io`, signal);
    for (const [, count] of (io ?? '').matchAll(/^[rw]char: (\d+)$/gm)) bytes += Number(count);
  }
  return bytes;
}
