import { Buffer } from 'node:buffer';
import { encodeBase64, hashSync } from 'bcryptjs';
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { type Fields, textsIn } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';
import type { SourceObject } from '../api/source-object.ts';

/** Name and password of the one user of the staging registry. */
export interface RegistryUser {
  readonly name: string;
  readonly password: string;
}

/**
 * The line of the user in a file of passwords, as `htpasswd -B` writes it: the registry takes no
 * other form, and CoreOS hosts have no program that writes it. The salt has 16 bytes. The password
 * is random, so the cost of its hash matters little.
 */
export const passwordLine = ({ name, password }: RegistryUser, salt: Uint8Array): string =>
  `${name}:${hashSync(password, `$2b$05$${encodeBase64(salt, 16)}`)}\n`;

/** The user as curl reads it from a file. */
export const curlCredentials = ({ name, password }: RegistryUser): string =>
  `user = "${name}:${password}"\n`;

/** The user in the form of a pull secret. */
export const pullSecretOf = (address: string, { name, password }: RegistryUser): string =>
  JSON.stringify({
    auths: { [address]: { auth: Buffer.from(`${name}:${password}`).toString('base64') } },
  });

/** A pull secret (containers-auth.json(5)). */
export const PullSecret = z.object({ auths: z.record(z.string(), z.unknown()) });

/**
 * Merges pull secrets; a later one wins for a registry that two name.
 * @throws AgentError `layering.bad-credentials` for any other text, which is never quoted
 */
export function mergePullSecrets(
  secrets: readonly { readonly from: string; readonly text: string }[],
): string {
  const auths = secrets.map(({ from, text }) => {
    const parsed = PullSecret.partial().safeParse(jsonIn(text));
    if (parsed.success) return parsed.data.auths ?? {};
    throw layeringFailure('layering.bad-credentials', `${from} is not a pull secret`);
  });
  const merged = new Map<string, unknown>();
  for (const one of auths) {
    const places = new Set(Object.keys(one).map(placeOf));
    for (const key of merged.keys()) if (places.has(placeOf(key))) merged.delete(key);
    for (const [key, value] of Object.entries(one)) merged.set(key, value);
  }
  return JSON.stringify({ auths: Object.fromEntries(merged) });
}

/** Names of one registry (containers/image, `normalizeRegistry`). */
const dockerHosts = ['index.docker.io', 'registry-1.docker.io'];

/**
 * What a key of a pull secret is for: a host with its port, or what lies below one. With a scheme
 * it is an address of an API, of which the host alone counts (containers/image,
 * `normalizeAuthFileKey`); the path of an API counts without one neither.
 */
function placeOf(key: string): string {
  const [, scheme, host = '', path = ''] = /^(https?:\/\/)?([^/]*)(.*)$/is.exec(key) ?? [];
  const name = host.toLowerCase();
  const below = scheme === undefined ? path.replace(/\/$/, '').replace(/^\/v[12]$/, '') : '';
  return `${dockerHosts.includes(name) ? 'docker.io' : name}${below}`;
}

/**
 * What a pull secret holds for a repository, as a pull secret of its own: the entry of the longest
 * name that the repository lies below, as the container tools choose it (containers-auth.json(5));
 * one that is written as the name itself comes first. Undefined without any.
 * @throws AgentError `layering.bad-credentials` for any other text, which is never quoted
 */
export function narrowedTo(
  repository: string,
  secret: { readonly from: string; readonly text: string },
): string | undefined {
  const { auths } = PullSecret.parse(JSON.parse(mergePullSecrets([secret])));
  const parts = repository.split('/');
  const names = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
  const exact = names.find((one) => Object.hasOwn(auths, one));
  const keys = new Map(Object.keys(auths).map((key) => [placeOf(key), key]));
  const name = exact ?? names.find((one) => keys.has(placeOf(one)));
  if (name === undefined) return undefined;
  return JSON.stringify({ auths: { [name]: auths[exact ?? keys.get(placeOf(name)) ?? ''] } });
}

/** The content of a Secret by key, decoded; for the API server, plain text wins. */
export const secretTexts = ({ data, stringData }: Fields): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(
    Object.entries(textsIn(data)).map(
      ([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8')] as const,
    ),
  ),
  ...textsIn(stringData),
});

/**
 * The credentials of a Secret as a pull secret; the older form, `.dockercfg`, is converted.
 * @throws AgentError `layering.bad-credentials`
 */
export function pullSecretIn({ value, place }: SourceObject): string {
  const { '.dockerconfigjson': newer, '.dockercfg': older } = secretTexts(value);
  const text = newer ?? (older === undefined ? undefined : `{"auths":${older}}`);
  if (value['kind'] !== 'Secret' || text === undefined) {
    throw layeringFailure(
      'layering.bad-credentials',
      `${place(['kind'])}: a Secret with .dockerconfigjson or .dockercfg is expected`,
    );
  }
  const key = newer === undefined ? '.dockercfg' : '.dockerconfigjson';
  return mergePullSecrets([{ from: `${place(['data'])}: ${key}`, text }]);
}
