import { Buffer } from 'node:buffer';
import { encodeBase64, hashSync } from 'bcryptjs';
import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { hours, type Millis } from '../../model/duration.ts';
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

const PullSecret = z.object({ auths: z.record(z.string(), z.unknown()).default({}) });

/**
 * Merges pull secrets; a later one wins for a registry that two name.
 * @throws AgentError `layering.bad-credentials` for any other text, which is never quoted
 */
export function mergePullSecrets(
  secrets: readonly { readonly from: string; readonly text: string }[],
): string {
  const auths = secrets.map(({ from, text }) => {
    const parsed = PullSecret.safeParse(jsonIn(text));
    if (parsed.success) return parsed.data.auths;
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

/** Names and addresses that a certificate is for. */
export interface CertificateNames {
  readonly addresses: readonly string[];
  readonly names: readonly string[];
}

/** How far into the past certificates reach: clocks of hosts that were just switched on differ. */
const backdated: Millis = hours(1);

/** Long enough for any installation; the registry is gone after it. */
const validFor: Millis = hours(24 * 30);

/** The validity of certificates, as openssl wants it: `20261121190000Z`. */
export interface Validity {
  readonly from: string;
  readonly until: string;
}

/** The validity of certificates that are created now, in milliseconds since the epoch. */
export const validityAt = (now: number): Validity => ({
  from: asn1Time(now - backdated),
  until: asn1Time(now + validFor),
});

/** Files of an authority in a folder, in the order in which they are created. */
const filesIn = (folder: string) =>
  ({
    settings: `${folder}/openssl.cnf`,
    index: `${folder}/index.txt`,
    serial: `${folder}/serial`,
    caKey: `${folder}/ca.key`,
    caRequest: `${folder}/ca.csr`,
    caCertificate: `${folder}/ca.crt`,
    key: `${folder}/tls.key`,
    request: `${folder}/tls.csr`,
    certificate: `${folder}/tls.crt`,
  }) as const;

/** The files that must be in the folder before the first command. */
export function authorityFiles(
  folder: string,
  names: CertificateNames,
): readonly { readonly path: string; readonly content: string }[] {
  const { settings, index, serial } = filesIn(folder);
  return [
    { path: settings, content: opensslSettings(folder, names) },
    { path: index, content: '' },
    { path: serial, content: '01\n' },
  ];
}

/**
 * The commands that create an authority and a certificate of it. `openssl ca` is the one program on
 * every host that takes a beginning in the past.
 */
export function certificateCommands(
  folder: string,
  { from, until }: Validity,
): readonly (readonly string[])[] {
  const files = filesIn(folder);
  const request = (subject: string, key: string, out: string): readonly string[] => [
    ...['openssl', 'req', '-new', '-batch', '-config', files.settings],
    ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-subj', `/CN=${subject}`, '-keyout', key, '-out', out],
  ];
  const sign = (...more: readonly string[]): readonly string[] => [
    ...['openssl', 'ca', '-batch', '-notext', '-config', files.settings],
    ...['-keyfile', files.caKey, '-startdate', from, '-enddate', until, ...more],
  ];
  return [
    request('bootwright staging authority', files.caKey, files.caRequest),
    sign(
      ...['-selfsign', '-extensions', 'authority', '-in', files.caRequest],
      ...['-out', files.caCertificate],
    ),
    request('bootwright staging registry', files.key, files.request),
    sign(
      ...['-cert', files.caCertificate, '-extensions', 'server'],
      ...['-in', files.request, '-out', files.certificate],
    ),
  ];
}

const asn1Time = (time: number): string =>
  `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-T:]/g, '')}Z`;

function opensslSettings(folder: string, { addresses, names }: CertificateNames): string {
  const { index, serial } = filesIn(folder);
  const alternatives = [
    ...addresses.map((address) => `IP:${address}`),
    ...names.map((name) => `DNS:${name}`),
  ];
  return [
    '[ca]',
    'default_ca = staging',
    '[staging]',
    `database = ${index}`,
    `serial = ${serial}`,
    `new_certs_dir = ${folder}`,
    'default_md = sha256',
    // A certificate of an interrupted attempt must not be in the way.
    'unique_subject = no',
    'policy = any_name',
    '[any_name]',
    'commonName = supplied',
    '[req]',
    'distinguished_name = asked',
    'prompt = no',
    '[asked]',
    'commonName = replaced',
    '[authority]',
    'basicConstraints = critical,CA:TRUE',
    'keyUsage = critical,keyCertSign,cRLSign',
    'subjectKeyIdentifier = hash',
    '[server]',
    'basicConstraints = critical,CA:FALSE',
    'keyUsage = critical,digitalSignature',
    'extendedKeyUsage = serverAuth',
    `subjectAltName = ${alternatives.join(',')}`,
    '',
  ].join('\n');
}
