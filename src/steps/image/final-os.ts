import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type EncapsulatedMachineConfig, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { type Pointer, readPointer, type RemotePointer } from '../../ignition/pointer.ts';
import { decodeContent } from '../../ignition/resource.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { FailureKind } from '../../model/failure.ts';
import type { Web } from '../../ports/web.ts';
import { ignitionSourceFailure } from '../ignition/failures.ts';
import type { StepScope } from '../step.ts';
import { imageFailure } from './failures.ts';

/** Version 3.4 is what the machine-config-server of every OpenShift since 4.15 can serve. */
const accept = 'application/vnd.coreos.ignition+json; version=3.4.0';

/** Rendered configs reach several MB; nothing that is larger than this is one. */
const largestBytes = 64 * 1024 ** 2;

/** Failures that may pass while the machine-config-server comes up. */
const passing: readonly FailureKind[] = ['remote', 'media', 'limit'];

const isPassing = (error: unknown): boolean => passing.includes(asAgentError(error).kind);

/**
 * Finds out, from the Ignition that was put on the disk, which operating system the first boot would
 * turn this one into. The machine-config-server may not be up yet; it is waited for.
 * @throws AgentError `ignition.*`, `wait.timed-out`
 */
export const findFinalOs = (
  scope: StepScope<'host' | 'web'>,
  ignitionPath: string,
): Promise<EncapsulatedMachineConfig> =>
  readRendered(scope, ignitionPath, {
    read: readEncapsulated,
    within: serverTimeout(scope.config.layering),
  });

/** How a rendered config is read, and how long the machine-config-server is waited for. */
interface RenderedReading<T> {
  readonly read: (rendered: Uint8Array) => T;
  /** 20 minutes unless given. */
  readonly within?: Millis;
}

/**
 * Reads the config that the Ignition on the disk leads to, waiting for the machine-config-server.
 * What `read` throws of a kind that may pass is waited over too.
 * @throws AgentError `ignition.*`, `wait.timed-out`, and what `read` throws
 */
export async function readRendered<T>(
  { host, web, signal, until }: StepScope<'host' | 'web'>,
  ignitionPath: string,
  { read, within = minutes(20) }: RenderedReading<T>,
): Promise<T> {
  const text = await host.readText(ignitionPath, signal);
  if (text === undefined) {
    throw imageFailure('image.file-missing', `${ignitionPath} is not on the host`, {
      context: { path: ignitionPath },
    });
  }
  const pointer = readPointer(parseConfig(text).config);
  return until(
    'the rendered config of this pool can be read',
    (at) => tryRead({ web, pointer, read }, at),
    {
      every: seconds(5),
      within,
    },
  );
}

/**
 * How long the machine-config-server is waited for. A bootstrap host that builds operating systems
 * holds it back until two of them are there, and no other host knows of that.
 */
const serverTimeout = ({ mode, buildMinutes }: StepScope<never>['config']['layering']): Millis =>
  minutes(mode === 'off' ? 20 : 20 + 2 * buildMinutes);

interface Reading<T> {
  readonly web: Web;
  readonly pointer: Pointer;
  readonly read: (rendered: Uint8Array) => T;
}

async function tryRead<T>(
  { web, pointer, read }: Reading<T>,
  signal: AbortSignal,
): Promise<PollResult<T>> {
  try {
    const rendered =
      pointer.kind === 'embedded' ? pointer.content : await fetchRendered(web, pointer, signal);
    return { done: read(rendered) };
  } catch (error) {
    signal.throwIfAborted();
    // What the embedded config lacks will not come by waiting.
    if (pointer.kind === 'embedded' || !isPassing(error)) throw error;
    return { status: asAgentError(error).message };
  }
}

async function fetchRendered(
  web: Web,
  { url, resource, certificateAuthorities: ca }: RemotePointer,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const trust = ca === '' ? {} : { ca, caOnly: true };
  const { body, origin } = await web.open(url, { signal, accept, ...trust });
  const bytes = await readUpTo(body, largestBytes);
  if (bytes !== undefined) return decodeContent(resource, bytes);
  throw ignitionSourceFailure('ignition.oversized', `${shownUrl(origin)} sends more than 64 MiB`, {
    context: { origin: shownUrl(origin) },
  });
}
