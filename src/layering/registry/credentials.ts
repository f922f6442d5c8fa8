import { Buffer } from 'node:buffer';
import { encodeBase64, hashSync } from 'bcryptjs';
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { imageFailure } from '../image/failures.ts';
import { isMembers, type Members } from '../schema/schema.ts';
import type { SourceObject } from '../source-object.ts';

/** Name and password of the one user of the staging registry. */
export interface RegistryUser {
  readonly name: string;
  readonly password: string;
}

/**
 * The line of the user in a file of passwords, as `htpasswd -B` writes it: the registry takes no other
 * form, and hosts of CoreOS have no program that makes it. The salt has 16 bytes. The password is
 * random, so the work of its hash matters little.
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

const PullSecret = z.object({ auths: z.record(z.string(), z.unknown()).default({}) });

/**
 * One pull secret with what several hold; a later one wins for a registry that two name.
 * @throws AgentError `layering.bad-credentials` for a text that is none, which is never quoted
 */
export function mergePullSecrets(
  secrets: readonly { readonly from: string; readonly text: string }[],
): string {
  const auths = secrets.map(({ from, text }) => {
    const parsed = PullSecret.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data.auths;
    throw imageFailure('layering.bad-credentials', `${from} is not a pull secret`);
  });
  return JSON.stringify({ auths: Object.assign({}, ...auths) as Record<string, unknown> });
}

/**
 * What a pull secret holds for a repository, as a pull secret of its own: the entry of the longest name that the
 * repository lies below, as the container tools choose it (containers-auth.json(5)); undefined without any.
 * @throws AgentError `layering.bad-credentials` for a text that is none, which is never quoted
 */
export function narrowedTo(
  repository: string,
  secret: { readonly from: string; readonly text: string },
): string | undefined {
  const { auths } = PullSecret.parse(JSON.parse(mergePullSecrets([secret])));
  const parts = repository.split('/');
  const names = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
  const name = names.find((one) => Object.hasOwn(auths, one));
  return name === undefined ? undefined : JSON.stringify({ auths: { [name]: auths[name] } });
}

/**
 * The credentials of a Secret as a pull secret; the older form, `.dockercfg`, is brought into the newer one.
 * @throws AgentError `layering.bad-credentials`
 */
export function pullSecretIn({ value, place }: SourceObject): string {
  const plain = textIn(value['stringData'], '.dockerconfigjson');
  const text = plain ?? decoded(textIn(value['data'], '.dockerconfigjson'));
  if (value['kind'] === 'Secret' && text !== undefined) {
    return mergePullSecrets([{ from: `${place(['data'])}: .dockerconfigjson`, text }]);
  }
  const older =
    textIn(value['stringData'], '.dockercfg') ?? decoded(textIn(value['data'], '.dockercfg'));
  if (value['kind'] !== 'Secret' || older === undefined) {
    throw imageFailure(
      'layering.bad-credentials',
      `${place(['kind'])}: a Secret with .dockerconfigjson or .dockercfg is expected`,
    );
  }
  const text2 = `{"auths":${older}}`;
  return mergePullSecrets([{ from: `${place(['data'])}: .dockercfg`, text: text2 }]);
}

const textIn = (members: Members[string] | undefined, key: string): string | undefined => {
  const text = members !== undefined && isMembers(members) ? members[key] : undefined;
  return typeof text === 'string' ? text : undefined;
};

const decoded = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
