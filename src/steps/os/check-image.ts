import type { ImageName } from '../../lib/image-name.ts';
import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { decideApply } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { asksForChange, isApplied } from '../../os/kernel-arguments.ts';
import {
  digestInList,
  goArchitecture,
  inspectArgv,
  lacksArchitecture,
  layersArgv,
  missingBytes,
  rawManifestArgv,
  readInspected,
  readLayers,
  type RegistryImage,
  parseImageName,
} from '../../os/registry-image.ts';
import type { ApplyPlan, CommandScope, NodeRequest, OsSnapshot } from './request.ts';
import { ask, findAuthFile, readArguments } from './read-host.ts';
import { readArchitecture } from '../host-commands.ts';

/**
 * Checks that the image exists and fits this host, and decides the action. Without skopeo on the
 * host, the pull itself is the check.
 */
export async function planApply(scope: CommandScope, snapshot: OsSnapshot): Promise<ApplyPlan> {
  const { config, note } = scope;
  const name = parseImageName(config.image);
  // Decided before the question to the registry, which a host without work may not even reach.
  const pinned = { image: name.text, digest: name.digest };
  const early = name.digest === undefined ? undefined : decideApply(snapshot.status, pinned);
  if (early === 'booted' || early === 'staged') return planFor(early, snapshot, scope);
  const found = await inspect(scope, name);
  const decision = decideApply(snapshot.status, { image: name.text, digest: found?.digest });
  const plan = await planFor(decision, snapshot, scope);
  if (found === undefined) return plan;
  note('info', `the image is ${found.digest}`, { architecture: found.architecture });
  const missing = missingBytes(found, readLayers((await ask(scope, layersArgv)) ?? ''));
  // The content of a name with a digest never changes.
  const moving = name.digest === undefined ? { digest: found.digest } : {};
  return { ...plan, ...moving, missingBytes: missing };
}

/**
 * The plan of the action. If the kernel arguments of the staged deployment are unknown, they are
 * set again.
 */
async function planFor(
  decision: ReturnType<typeof decideApply>,
  snapshot: OsSnapshot,
  scope: CommandScope,
): Promise<ApplyPlan> {
  if (decision !== 'booted' && decision !== 'staged') return { kind: decision };
  const { kernelArguments } = scope.config;
  if (!asksForChange(kernelArguments)) return { kind: 'nothing' };
  const of = decision === 'booted' ? 'booted' : 'next';
  const present = await readArguments(scope, snapshot, of);
  const isAsWanted = present !== undefined && isApplied(present, kernelArguments);
  return { kind: isAsWanted ? 'nothing' : 'keep' };
}

async function inspect(scope: CommandScope, name: ImageName): Promise<RegistryImage | undefined> {
  const { note } = scope;
  const auth = await findAuthFile(scope);
  const asked = await inspectOrFail(scope, inspectArgv(name.text, auth?.path));
  if (asked === undefined) {
    note('warn', 'there is no skopeo: architecture and size of the image are not known');
    return undefined;
  }
  const found = readInspected(asked, name.text);
  const machine = goArchitecture(await readArchitecture(scope));
  if (found.architecture !== machine) {
    const { architecture } = found;
    const what = `${name.text} is made for ${architecture}, this host is ${machine}`;
    throw osFailure('os.wrong-architecture', what, {
      context: { image: architecture, host: machine },
    });
  }
  if (name.digest !== undefined) return found;
  const raw = await ask(scope, rawManifestArgv(name.text, auth?.path));
  return { ...found, digest: digestInList(raw ?? '', machine) ?? found.digest };
}

async function inspectOrFail(
  { host, signal, config }: CommandScope,
  argv: readonly string[],
): Promise<string | undefined> {
  try {
    return (await host.exec(argv, { signal, limit: minutes(5) })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    if (error.code === 'command.not-found') return undefined;
    if (error.code === 'command.stopped') throw error;
    const stderr = String(error.context['stderr'] ?? '');
    if (lacksArchitecture(stderr)) {
      throw osFailure('os.wrong-architecture', `${config.image} has no variant for this host`, {
        cause: error,
      });
    }
    throw osFailure('os.image-unreachable', `${config.image} cannot be read`, { cause: error });
  }
}

/**
 * Checks an apply before any question to the host: the Machine Config Daemon compares names byte
 * for byte, and a tag does not identify the running image.
 * @throws AgentError `os.bad-image-name`
 */
export function checkRequest({ image, records }: Pick<NodeRequest, 'image' | 'records'>): void {
  const { digest } = parseImageName(image);
  if (!records || digest !== undefined) return;
  const what = `${JSON.stringify(image)} has no digest, which a record needs`;
  throw osFailure('os.bad-image-name', what, {
    hint: 'write HOST/PATH@sha256:DIGEST',
    context: { image },
  });
}
