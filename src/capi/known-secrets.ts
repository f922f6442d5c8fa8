import { gunzipSync } from 'node:zlib';
import { isFields, type Value } from '../layering/api/schema.ts';
import { readObjects } from '../layering/api/source-object.ts';
import {
  credentialsIn,
  isLongEnough,
  secretsInIgnition,
} from '../layering/registry/log-secrets.ts';
import { jsonIn } from '../lib/json.ts';
import { Secret } from '../model/secret.ts';
import type { KubeObject } from '../ports/kube.ts';
import { assetKeys, ownNames } from './api.ts';
import { secretBytes } from './objects.ts';

/** Keys of Secrets whose values are words that objects and logs are full of. */
const publicKeys: ReadonlySet<string> = new Set([
  ...['format', 'namespace', 'username', 'ca.crt'],
  ...[assetKeys.mcoImage, assetKeys.coreOsImage, assetKeys.metadata, assetKeys.configServerCa],
]);

/** Members of an object that hold secrets, whatever is below them: those of a kubeconfig, an install-config, a BMC, a Secret. */
const secretMember = /pass|token|secret|key|auth|cred|hash|^(?:string)?data$/i;

/** No Ignition of a bootstrap is larger. */
const largestFile = 64 * 1024 * 1024;

/**
 * What must not be seen of a Secret, wherever it stands: tokens, passwords, keys and certificates, also within an install-config, a pull secret, a
 * kubeconfig or an Ignition.
 */
export function secretsIn(secret: KubeObject): readonly Secret[] {
  if (secret.metadata.labels?.[ownNames.hostLog] !== undefined) return [];
  const keys = Object.keys(secret['data'] ?? {}).filter((key) => !publicKeys.has(key));
  return keys.flatMap((key) => secretsInText(textOf(secret, key)));
}

function textOf(secret: KubeObject, key: string): string {
  const bytes = secretBytes(secret, key) ?? Buffer.alloc(0);
  if (!key.endsWith('.gz')) return bytes.toString();
  try {
    return gunzipSync(bytes, { maxOutputLength: largestFile }).toString();
  } catch {
    return '';
  }
}

function secretsInText(text: string): readonly Secret[] {
  const json = jsonIn(text) as Value | undefined;
  if (isFields(json) && isFields(json['auths'])) return credentialsIn(text).secrets;
  if (isFields(json) && isFields(json['ignition'])) return secretsInIgnition(text);
  const objects = isFields(json) ? [json] : yamlObjects(text);
  if (objects.length === 0) return isLongEnough(text.trim()) ? [new Secret(text.trim())] : [];
  return objects.flatMap((object) => secretsInValue(object, false));
}

/** None in a text that is a token, a password or a key. */
function yamlObjects(text: string): readonly Value[] {
  try {
    return readObjects({ path: 'a Secret', text }).map(({ value }) => value as Value);
  } catch {
    return [];
  }
}

function secretsInValue(value: Value | undefined, isSecret: boolean): readonly Secret[] {
  if (Array.isArray(value))
    return (value as readonly Value[]).flatMap((one) => secretsInValue(one, isSecret));
  if (isFields(value))
    return Object.entries(value).flatMap(([member, one]) =>
      secretsInValue(one, isSecret || secretMember.test(member)),
    );
  if (typeof value !== 'string' || !isLongEnough(value)) return [];
  const nested = jsonIn(value) as Value | undefined;
  if (isFields(nested)) return secretsInText(value);
  return isSecret ? [new Secret(value)] : [];
}
