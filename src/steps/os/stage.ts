import { minutes } from '../../model/duration.ts';
import { drivers } from '../../os/choose-driver.ts';
import type { Argv, StageKind } from '../../os/driver.ts';
import { osFailure } from '../../os/failures.ts';
import { asksForChange, bootEntryArguments } from '../../os/kernel-arguments.ts';
import { Plan, Sight } from './facts.ts';
import { findAuthFile, linkAuthArgvs } from './find-auth-file.ts';
import { runCommands } from './run-commands.ts';
import { stageFailure } from './stage-failure.ts';
import { type NodeScope, step } from './step.ts';

/** Entries of the boot loader, written by ostree. */
const entriesFolder = '/boot/loader/entries';

/**
 * Has the image pulled and staged. Until the programs are through the host boots what it booted
 * before, and what a stopped pull left is used by the next one.
 */
export const stage = step({
  id: 'os/stage',
  title: 'Stage the image for the next boot',
  uses: ['host'],
  needs: { sight: Sight, plan: Plan },
  limit: minutes(120),
  touches: ['os'],
  skipIf: ({ plan, sight: { status } }) => {
    if (plan.kind !== 'nothing') return undefined;
    return (status.staged ?? status.pending) === undefined
      ? 'the host runs this image already'
      : 'this image is booted next already';
  },
  run: async (scope, { sight, plan }) => {
    if (plan.kind === 'nothing') return;
    const argvs = await stageArgvs(scope, sight, plan.kind);
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
  { driver: name, status, commandLine }: Sight,
  kind: StageKind,
): Promise<readonly Argv[]> {
  const { image, kernelArguments } = scope.config;
  const driver = drivers[name];
  const verification = status.booted?.verification ?? 'none';
  if (verification === 'remote') {
    throw osFailure(
      'os.signature-unsupported',
      'the image is checked by the keys of an ostree remote',
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
    'no entry of the boot loader has the system that runs',
  );
}
