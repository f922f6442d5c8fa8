import { minutes } from '../../model/duration.ts';
import { drivers } from '../../os/choose-driver.ts';
import { asksForChange, type StageKind, type StageRequest } from '../../os/driver.ts';
import { osFailure, type osFailures } from '../../os/failures.ts';
import { type CommandScope, ApplyPlan, OsSnapshot, nodeStep } from './step.ts';
import {
  findAuthFile,
  linkAuthArgvs,
  localLimit,
  readArguments,
  runCommands,
} from './read-host.ts';
import { asAgentError } from '../../engine/failures.ts';
import { AgentError } from '../../model/failure.ts';
import { type PullErrorKind, readPullError } from '../../os/registry-image.ts';

/**
 * Has the image pulled and staged. Until the programs have finished, the host boots what it booted
 * before, and what a stopped pull left is used by the next one.
 */
export const stageOsImage = nodeStep({
  id: 'os/stage',
  title: 'Stage the image for the next boot',
  uses: ['host'],
  needs: { snapshot: OsSnapshot, plan: ApplyPlan },
  limit: minutes(120),
  touches: ['os'],
  skipIf: ({ plan, snapshot: { status } }) => {
    if (plan.kind !== 'nothing') return undefined;
    return (status.staged ?? status.pending) === undefined
      ? 'the host runs this image already'
      : 'this image boots next already';
  },
  run: stagePlanned,
});

/** What is known of a change, and what is to be done. */
interface Planned {
  readonly snapshot: OsSnapshot;
  readonly plan: ApplyPlan;
}

/** @throws AgentError `os.*`, `command.*` */
export async function stagePlanned(
  scope: CommandScope,
  { snapshot, plan }: Planned,
): Promise<void> {
  if (plan.kind === 'nothing') return;
  const request = stageRequest(scope, snapshot, plan.kind);
  const auth = await findAuthFile(scope);
  try {
    if (auth?.isKubelets === true) await runCommands(scope, linkAuthArgvs);
    await stage(scope, snapshot, request);
  } catch (error) {
    throw stageFailure(error, scope.config.image);
  }
}

/** Kernel arguments are changed against what the next boot has right before: a pull takes long, and brings those of what it follows. */
async function stage(
  scope: CommandScope,
  snapshot: OsSnapshot,
  request: StageRequest,
): Promise<void> {
  const { kernelArguments } = scope.config;
  const driver = drivers[snapshot.driver];
  if (!asksForChange(kernelArguments)) return runCommands(scope, driver.stageArgvs(request));
  const isApart = driver.argumentsArgv !== undefined;
  if (isApart) await runCommands(scope, driver.stageArgvs(request));
  const present = await readArguments(scope, snapshot, 'next');
  const change = { ...request, kernelArguments, ...(present === undefined ? {} : { present }) };
  await runCommands(scope, driver.stageArgvs(isApart ? { ...change, kind: 'keep' } : change));
}

function stageRequest(
  { config: { image } }: CommandScope,
  { status: { booted } }: OsSnapshot,
  kind: StageKind,
): StageRequest {
  const verification = booted?.verification ?? 'none';
  if (verification === 'remote') {
    throw osFailure(
      'os.signature-unsupported',
      'the image is verified with the keys of an ostree remote',
    );
  }
  const stateroot = booted?.stateroot;
  return { kind, image, verification, ...(stateroot === undefined ? {} : { stateroot }) };
}

const codes: Readonly<Record<PullErrorKind, keyof typeof osFailures>> = {
  'wrong-architecture': 'os.wrong-architecture',
  'no-room': 'os.no-space',
  'registry-unreachable': 'os.image-unreachable',
  'pull-cut': 'os.pull-cut',
};

/** Why an image could not be staged. Whatever is no failed pull, such as a stop, stays unchanged. */
export function stageFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const pullError = readPullError(String(error.context['stderr'] ?? ''));
  return pullError.kind === undefined
    ? error
    : osFailure(codes[pullError.kind], `${image}: ${pullError.cause ?? error.message}`, {
        cause,
        context: { image },
      });
}

/**
 * Removes what earlier images left and nothing leads back to, before another one comes. What runs,
 * what a rollback leads to and what somebody pinned stay. A failure is a warning: the image may still fit.
 */
export const removeOldImages = nodeStep({
  id: 'os/clean-up',
  title: 'Remove deployments and layers of earlier images',
  uses: ['host'],
  needs: { snapshot: OsSnapshot, plan: ApplyPlan },
  limit: minutes(20),
  skipIf: ({ plan }) => (plan.kind === 'nothing' ? 'there is nothing to do' : undefined),
  run: cleanUp,
});

/** Removes what earlier images left. */
export async function cleanUp(
  scope: CommandScope,
  { snapshot }: Pick<Planned, 'snapshot'>,
): Promise<void> {
  try {
    await runCommands(scope, drivers[snapshot.driver].cleanArgvs(snapshot.status), localLimit);
  } catch (error) {
    scope.signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    scope.note('warn', `earlier images were not removed: ${error.message}`, { code: error.code });
  }
}
