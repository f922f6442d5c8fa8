import { Buffer } from 'node:buffer';
import type { RegistrySecret } from '../os-config/semantics.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';
import type { SourceFile } from '../source-object.ts';
import { documentsOf, namesOf } from './documents.ts';

/** Where the operator looks for the Secrets of a MachineOSConfig. */
export const operatorNamespace = 'openshift-machine-config-operator';

/**
 * The Secret of a name in a manifest file, with its content decoded; undefined when it is not there.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export const readSecretManifest = (file: SourceFile, name: string): RegistrySecret | undefined =>
  documentsOf(file)
    .map(({ object }) => registrySecretOf(object.value))
    .find((secret) => secret?.name === name);

/** A Secret of the operator's namespace, or undefined for any other object. */
export function registrySecretOf(value: Members): RegistrySecret | undefined {
  const { name, namespace } = namesOf(value);
  if (value['kind'] !== 'Secret' || value['apiVersion'] !== 'v1') return undefined;
  if (namespace !== operatorNamespace || name === '') return undefined;
  const type = value['type'];
  const encoded = textsIn(value['data']).map(
    ([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8')] as const,
  );
  return {
    name,
    type: typeof type === 'string' ? type : 'Opaque',
    // The API server lets what is written plainly win.
    data: Object.fromEntries([...encoded, ...textsIn(value['stringData'])]),
  };
}

const textsIn = (value: Value | undefined): readonly (readonly [string, string])[] =>
  Object.entries(isMembers(value) ? value : {}).flatMap(([key, text]) =>
    typeof text === 'string' ? [[key, text] as const] : [],
  );
