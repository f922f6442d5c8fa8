import { Buffer } from 'node:buffer';
import { encodeBase64, hashSync } from 'bcryptjs';
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { type Fields, isFields, textOf, textsIn } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';
import type { SourceObject } from '../api/source-object.ts';

/** Name and password of the only user of the staging registry. */
export interface RegistryUser {
  readonly name: string;
  readonly password: string;
}

/**
 * The line of the user in a password file, as `htpasswd -B` writes it: the registry accepts no
 * other hash, and CoreOS hosts have no program that writes it. The salt has 16 bytes. The password
 * is random, so the cost of its hash matters little.
 */
export const passwordLine = ({ name, password }: RegistryUser, salt: Uint8Array): string =>
  `${name}:${hashSync(password, `$2b$05$${encodeBase64(salt, 16)}`)}\n`;

/** The user in curl's config file format. */
export const curlCredentials = ({ name, password }: RegistryUser): string =>
  `user = "${name}:${password}"\n`;

/** A pull secret with the user. */
export const pullSecretOf = (address: string, { name, password }: RegistryUser): string =>
  JSON.stringify({
    auths: { [address]: { auth: Buffer.from(`${name}:${password}`).toString('base64') } },
  });

/** A pull secret (containers-auth.json(5)). */
export const PullSecret = z.object({ auths: z.record(z.string(), z.unknown()) });

/**
 * Merges pull secrets; for a registry in two of them the later one wins.
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

/** Other names of docker.io (containers/image, `normalizeRegistry`). */
const dockerHosts = ['index.docker.io', 'registry-1.docker.io'];

/**
 * The registry or repository of a key in a pull secret: a host with its port, or a path below it. A
 * key with a scheme is the address of an API, of which the host alone counts (containers/image,
 * `normalizeAuthFileKey`); the path of an API is ignored without a scheme too.
 */
function placeOf(key: string): string {
  const [, scheme, host = '', path = ''] = /^(https?:\/\/)?([^/]*)(.*)$/is.exec(key) ?? [];
  const name = host.toLowerCase();
  const below = scheme === undefined ? path.replace(/\/$/, '').replace(/^\/v[12]$/, '') : '';
  return `${dockerHosts.includes(name) ? 'docker.io' : name}${below}`;
}

/**
 * The credentials for a repository, as a pull secret of its own: the entry with the longest name
 * that contains the repository, as the container tools choose it (containers-auth.json(5)). An
 * exact key takes precedence. Undefined without a match, or where that entry has no credentials.
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
  const entry = name === undefined ? undefined : auths[exact ?? keys.get(placeOf(name)) ?? ''];
  return name === undefined || isWithout(entry)
    ? undefined
    : JSON.stringify({ auths: { [name]: entry } });
}

/**
 * Whether an entry has no credentials: those of Docker are in a `credsStore`, which no host has,
 * and the container tools read no `username` beside it (containers/image, `decodeDockerAuth`). An
 * empty `auth` is for a registry without accounts: openshift-install requires the key.
 */
const isWithout = (entry: unknown): boolean =>
  isFields(entry) && entry['auth'] === undefined && textOf(entry['identitytoken']) === '';

/** The content of a Secret by key, decoded; `stringData` wins, as in the API server. */
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
