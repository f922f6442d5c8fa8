import { minutes } from '../../model/duration.ts';
import { drivers } from '../../os/choose-driver.ts';
import { type Argv, asksForChange, bootEntryArguments, type StageKind } from '../../os/driver.ts';
import { osFailure, type osFailures } from '../../os/failures.ts';
import { type NodeScope, ApplyPlan, OsSnapshot, nodeStep } from './step.ts';
import { findAuthFile, linkAuthArgvs, localLimit, runCommands } from './read-host.ts';
import { asAgentError } from '../../engine/failures.ts';
import { AgentError } from '../../model/failure.ts';
import { type PullErrorKind, readPullError } from '../../os/registry-image.ts';

/** Entries of the boot loader, written by ostree. */
const entriesFolder = '/boot/loader/entries';

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
  run: async (scope, { snapshot, plan }) => {
    if (plan.kind === 'nothing') return;
    const argvs = await stageArgvs(scope, snapshot, plan.kind);
    const auth = await findAuthFile(scope);
    try {
      await runCommands(scope, [...(auth?.isKubelets === true ? linkAuthArgvs : []), ...argvs]);
    } catch (error) {
      throw stageFailure(error, scope.config.image);
    }
  },
});

async function stageArgvs(
  scope: NodeScope,
  { driver: name, status, commandLine }: OsSnapshot,
  kind: StageKind,
): Promise<readonly Argv[]> {
  const { image, kernelArguments } = scope.config;
  const driver = drivers[name];
  const verification = status.booted?.verification ?? 'none';
  if (verification === 'remote') {
    throw osFailure(
      'os.signature-unsupported',
      'the image is verified with the keys of an ostree remote',
    );
  }
  const change = asksForChange(kernelArguments) ? { kernelArguments } : {};
  const present =
    driver.wantsPresentArguments && asksForChange(kernelArguments)
      ? { present: await presentArguments(scope, commandLine) }
      : {};
  const stateroot = status.booted?.stateroot;
  return driver.stageArgvs({
    ...{ kind, image, verification, ...change, ...present },
    ...(stateroot === undefined ? {} : { stateroot }),
  });
}

async function presentArguments(
  { host, signal }: NodeScope,
  commandLine: string,
): Promise<readonly string[]> {
  const names = await host.list(entriesFolder, signal);
  const entries: string[] = [];
  for (const name of names) {
    entries.push((await host.readText(`${entriesFolder}/${name}`, signal)) ?? '');
  }
  const found = bootEntryArguments(entries, commandLine);
  if (found !== undefined) return found;
  throw osFailure(
    'os.kernel-arguments-unsupported',
    'no boot loader entry matches the running system',
  );
}

const codes: Readonly<Record<PullErrorKind, keyof typeof osFailures>> = {
  'wrong-architecture': 'os.wrong-architecture',
  'no-room': 'os.no-space',
  'registry-unreachable': 'os.image-unreachable',
  'pull-cut': 'os.pull-cut',
};

/** Why an image could not be staged. What is no failed pull, and errors of ours such as a stop, stay as they are. */
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
  run: async (scope, { snapshot }) => {
    try {
      await runCommands(scope, drivers[snapshot.driver].cleanArgvs(snapshot.status), localLimit);
    } catch (error) {
      scope.signal.throwIfAborted();
      if (!(error instanceof AgentError)) throw error;
      scope.note('warn', `earlier images were not removed: ${error.message}`, { code: error.code });
    }
  },
});
