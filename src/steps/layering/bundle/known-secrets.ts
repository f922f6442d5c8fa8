import { PULL_SECRET_PATH } from '../../../ignition/resource.ts';
import { registrySecretOf } from '../../../layering/manifests/bootstrap-manifests.ts';
import { type Credentials, credentialsIn, isTelling } from '../../../layering/log-bundle.ts';
import { pullSecretIn } from '../../../layering/registry/credentials.ts';
import { secretFiles } from '../../../layering/registry/staging-registry.ts';
import { readObjects, type SourceObject } from '../../../layering/source-object.ts';
import { type Masker, masker } from '../../../lib/masker.ts';
import { secretValues } from '../../../lib/secret-values.ts';
import { Secret } from '../../../model/secret.ts';
import type { StepScope } from '../../step.ts';
import { stashFolders } from '../stash-os-configs.ts';

/** What is known of the credentials of this host without showing them. */
export interface KnownSecrets {
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

type FromFile = Credentials & { readonly from: string };

async function readCredentials({
  host,
  signal,
}: Pick<StepScope<'host'>, 'host' | 'signal'>): Promise<readonly FromFile[]> {
  const found: FromFile[] = [];
  for (const path of [PULL_SECRET_PATH, secretFiles.authFile]) {
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsIn(text) });
  }
  for (const name of await host.list(stashFolders.secrets, signal)) {
    const path = `${stashFolders.secrets}/${name}`;
    const text = await host.readText(path, signal);
    if (text !== undefined) found.push({ from: path, ...credentialsOf({ path, text }) });
  }
  return found;
}

/** The members of a Secret too, whatever form they have: another than the one that is wanted is a secret as well. */
function credentialsOf(file: { readonly path: string; readonly text: string }): Credentials {
  try {
    const objects = readObjects(file);
    const members = objects.flatMap(({ value }) =>
      Object.values(registrySecretOf(value)?.data ?? {}),
    );
    const parts = objects.map((object) => credentialsIn(pullSecretOrNothing(object)));
    return {
      registries: parts.flatMap(({ registries }) => registries),
      secrets: [
        ...members.filter(isTelling).map((text) => new Secret(text)),
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
