import { asAgentError } from '../../engine/failures.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import {
  type Bounds,
  bundleFolder,
  type PullSecretContent,
  credentialsIn,
  endOf,
  isLongEnough,
  usualBounds,
  withoutSecretLooks,
} from '../../layering/log-bundle.ts';
import { registrySecretOf } from '../../layering/manifests/bootstrap-manifests.ts';
import { pullSecretIn } from '../../layering/registry/credentials.ts';
import { stagingFiles } from '../../layering/registry/staging-registry.ts';
import { readObjects, type SourceObject } from '../../layering/source-object.ts';
import { type Masker, masker } from '../../lib/masker.ts';
import { secretValues } from '../../lib/secret-values.ts';
import { Secret } from '../../model/secret.ts';
import type { StepScope } from '../step.ts';
import { asideFolders } from './os-configs.ts';

/** A bundle that is being filled. */
export interface Bundle {
  /**
   * Writes what `read` gives under a name, masked and cut to its bounds. What cannot be read is listed in the index
   * instead; what is not there (undefined) is left out without a word, with what an earlier call left in its place.
   */
  readonly add: (name: string, read: () => Promise<string | undefined>) => Promise<void>;
  /** Writes the index, last, under a title. */
  readonly close: (title: string) => Promise<void>;
}

/** Opens the bundle of this host. */
export function openBundle(
  { host, signal }: Pick<StepScope<'host'>, 'host' | 'signal'>,
  { mask }: Pick<Masker, 'mask'>,
  bounds: Bounds = usualBounds,
): Bundle {
  const index: string[] = [];
  let room = bounds.bundle;
  const hide = (text: string): string => withoutSecretLooks(mask(text));
  const write = (name: string, text: string): Promise<unknown> =>
    host.writeFile(`${bundleFolder}/${name}`, text, { signal, mode: 0o600 });
  return {
    add: async (name, read) => {
      try {
        const text = await read();
        if (text === undefined) return;
        // Twice as much is masked as is kept, so that no secret of several lines is cut in two.
        const kept = endOf(hide(endOf(text, 2 * bounds.chunk)), Math.min(bounds.chunk, room));
        room = Math.max(0, room - kept.length);
        await write(name, kept);
        index.push(`${name}: ${kept.length} of ${text.length} characters`);
      } catch (error) {
        signal.throwIfAborted();
        index.push(hide(`${name}: ${asAgentError(error).message}`));
      }
    },
    close: async (title) => {
      await write('index.txt', `${[title, ...index].join('\n')}\n`);
    },
  };
}

/** What is known of the credentials of this host without showing them. */
interface KnownSecrets {
  readonly mask: Masker['mask'];
  /** Where credentials come from, and the registries that they are for. */
  readonly sources: readonly { readonly from: string; readonly registries: readonly string[] }[];
}

/** Reads every credential that layering works with, so that each can be taken out of what is gathered. */
export async function readKnownSecrets(
  scope: Pick<StepScope<'host'>, 'host' | 'signal' | 'config'>,
): Promise<KnownSecrets> {
  const { register, mask } = masker();
  for (const secret of secretValues(scope.config)) register(secret);
  const sources: { readonly from: string; readonly registries: readonly string[] }[] = [];
  for (const { from, ...known } of await readCredentials(scope)) {
    for (const secret of known.secrets) register(secret);
    sources.push({ from, registries: known.registries });
  }
  return { mask, sources };
}

type FromFile = PullSecretContent & { readonly from: string };

async function readCredentials({
  host,
  signal,
}: Pick<StepScope<'host'>, 'host' | 'signal'>): Promise<readonly FromFile[]> {
  const found: FromFile[] = [];
  for (const path of [PULL_SECRET_PATH, stagingFiles.authFile]) {
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsIn(text) });
  }
  for (const name of await host.list(asideFolders.secrets, signal)) {
    const path = `${asideFolders.secrets}/${name}`;
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsOf({ path, text }) });
  }
  return found;
}

/** The members of a Secret too, whatever form they have: another than the one that is wanted is a secret as well. */
function credentialsOf(file: { readonly path: string; readonly text: string }): PullSecretContent {
  try {
    const objects = readObjects(file);
    const members = objects.flatMap(({ value }) =>
      Object.values(registrySecretOf(value)?.data ?? {}),
    );
    const parts = objects.map((object) => credentialsIn(pullSecretOrNothing(object)));
    return {
      registries: parts.flatMap(({ registries }) => registries),
      secrets: [
        ...members.filter(isLongEnough).map((text) => new Secret(text)),
        ...parts.flatMap(({ secrets }) => secrets),
      ],
    };
  } catch {
    // A text that cannot be read is secret as a whole.
    return credentialsIn(file.text);
  }
}

function pullSecretOrNothing(object: SourceObject): string {
  try {
    return pullSecretIn(object);
  } catch {
    return '';
  }
}
