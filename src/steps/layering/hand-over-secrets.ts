import { Buffer } from 'node:buffer';
import { secrets } from '../../cluster/kinds.ts';
import {
  operatorNamespace,
  readSecretManifest,
} from '../../layering/manifests/bootstrap-manifests.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import type { PoolOrder } from './facts.ts';
import { handOverFailure } from './hand-over-failures.ts';
import { createUnlessThere } from './hand-over-objects.ts';

/**
 * Puts the Secrets of a pool where the Machine Config Operator looks for them. One that is there is left as it is:
 * the manifests of the installation put it there, and somebody may have given it newer credentials since.
 * @throws AgentError `layering.manifest-unusable`, `kube.*`
 */
export async function putSecrets(
  scope: StepScope<'host' | 'kube'>,
  { pushSecret, baseSecret }: PoolOrder,
  { spec }: MachineOSConfig,
): Promise<void> {
  const wanted = new Map([[spec.renderedImagePushSecret.name, pushSecret]]);
  const base = spec.baseImagePullSecret?.name;
  if (base !== undefined && baseSecret !== undefined) wanted.set(base, baseSecret);
  for (const [name, path] of wanted) {
    const object = await readSecret(scope, { name, path });
    await createUnlessThere(scope, { kind: secrets, name, namespace: operatorNamespace }, object);
  }
}

async function readSecret(
  { host, signal }: StepScope<'host'>,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<KubeObject> {
  const text = await host.readText(path, signal);
  const secret = text === undefined ? undefined : readSecretManifest({ path, text }, name);
  if (secret === undefined) {
    throw handOverFailure('layering.manifest-unusable', `${path} holds no Secret ${name}`, {
      context: { path },
    });
  }
  const data = Object.entries(secret.data).map(
    ([key, value]) => [key, Buffer.from(value).toString('base64')] as const,
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: operatorNamespace },
    type: secret.type,
    data: Object.fromEntries(data),
  };
}
