import { Buffer } from 'node:buffer';
import { stringify } from 'yaml';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import { jsonIn } from '../../lib/json.ts';
import { hiddenInWords, withoutUsers } from '../../lib/shown-url.ts';
import { MASK, Secret } from '../../model/secret.ts';
import { PullSecret } from './credentials.ts';
import { type Fields, fieldsOf, isFields, isList, textOf, type Value } from '../../lib/fields.ts';

/** Folder of the bundle on the host; the agent's container mounts /var/log. */
export const bundleFolder = '/var/log/bootwright-layering';

/**
 * Folder for a copy that is sent with the other logs of the host: the sender packs all files of
 * this folder (assisted-installer-agent, `src/logs_sender`), for every caller, and removes the
 * folder at its end.
 */
export const folderThatIsSent = (hostId: string): string =>
  `/var/log/logs_host_${hostId}/bootwright-layering`;

/** The most characters of the bundle that are sent with the logs of a host. */
export const longestBundle = 16 * 2 ** 20;

const leftOut = '(earlier lines are left out)\n';

/** The last characters of a text, in complete lines. */
export function lastPart(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(text.length - most);
  return `${leftOut}${cut.slice(cut.indexOf('\n') + 1)}`;
}

/** Fields of an entry that name a user and hold no secret. */
const harmless = new Set(['username', 'email']);

/** Whether a word is long enough to be masked: a shorter word would match harmless text too. */
export const isLongEnough = (word: string): boolean => word.length >= 6;

/** The registries of a pull secret, and the secrets in it. */
export interface PullSecretContent {
  /** Registries, with their paths if the keys have any. */
  readonly registries: readonly string[];
  readonly secrets: readonly Secret[];
}

/** Parses a pull secret; any other text is a secret as a whole. */
export function credentialsIn(text: string): PullSecretContent {
  const parsed = PullSecret.safeParse(jsonIn(text));
  if (!parsed.success) return { registries: [], secrets: text === '' ? [] : [new Secret(text)] };
  const { auths } = parsed.data;
  const words = Object.values(auths).flatMap((entry) =>
    Object.entries(fieldsOf(entry)).flatMap(wordsOf),
  );
  return {
    registries: Object.keys(auths),
    secrets: words.filter(isLongEnough).map((word) => new Secret(word)),
  };
}

/** The value itself and, for `NAME:PASSWORD` in base64, the decoded text and the password alone. */
function wordsOf([name, value]: readonly [string, unknown]): readonly string[] {
  if (typeof value !== 'string' || harmless.has(name)) return [];
  if (name !== 'auth') return [value];
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(pair) ?? [];
  return [value, pair, password];
}

/**
 * Patterns of secrets with unknown values. Each begins with fixed letters, because logs are long.
 */
const looksSecret: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----[\s\S]*?(?:-----END \1-----|$)/g, MASK],
  [/\b((?:net)?root=iscsi:)[^\s@]{1,512}@/g, `$1${MASK}@`],
  [/([?&](?:X-Amz-Signature|sig)=)[^\s&"']+/gi, `$1${MASK}`],
  [/\beyJ[\w-]{10,4096}\.[\w-]{10,}(?:\.[\w-]*)?/g, MASK],
  [/\b(Basic|Bearer)[ \t]+[\w+/=.~-]{6,}/gi, `$1 ${MASK}`],
  [/\$(?:1|2[aby]|5|6|7|y)\$[./\w$=,]{20,}/g, MASK],
  [
    /(password|passwd|passphrase|token|secret|api[-_]?key|secret[-_](?:access[-_])?key|rootpw|cifspass|set_credential(?:_binary)?|\bpsk|\bauth(?:orization)?)(\\?["']?[ \t]{0,9}[:=][ \t]{0,9})(?!(?:Basic|Bearer)\b)(\\?"[^"\n]*"|'[^'\n]*'|[^\s,;}\]]+)/gi,
    `$1$2${MASK}`,
  ],
];

/**
 * A text without apparent secrets: keys, passwords in addresses, tokens, hashes of passwords, and
 * values after a name of a secret. It runs second: known secrets are masked by their value.
 */
export const withoutSecretLooks = (text: string): string =>
  looksSecret.reduce(
    (masked, [pattern, instead]) => masked.replace(pattern, instead),
    withoutUsers(text),
  );

/** Fields of an Ignition config that name a part, and contain none of its content. */
const structuralFields = new Set([
  'version',
  'path',
  'name',
  'target',
  'device',
  'label',
  'format',
]);

/** Whether a name is that of a rendered MachineConfig. */
export const isRendered = (name: string): boolean => name.startsWith('rendered-');

/**
 * A rendered MachineConfig without its content: names, paths, modes and sizes of its Ignition
 * parts. The content includes the pull secret and keys of the cluster.
 */
export function machineConfigShape({ apiVersion, kind, metadata, spec }: Fields): string {
  const { config, ...rest } = fieldsOf(spec);
  const shaped = config === undefined ? {} : { config: shapeOf(config) };
  return stringify({ apiVersion, kind, metadata, spec: { ...rest, ...shaped } }, { lineWidth: 0 });
}

function shapeOf(value: Value, name = ''): Value {
  if (isList(value)) return value.map((item) => shapeOf(item));
  if (isFields(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, shapeOf(member, key)]),
    );
  }
  if (typeof value !== 'string' || structuralFields.has(name)) return value;
  return `(${value.length} characters)`;
}

/** Longer content is not a secret of a few lines. */
const longestContent = 64 * 1024;

/** Whether content is readable by root only, or is a containers-auth.json of any mode. */
const isForRoot = ({ path, mode }: Fields): boolean =>
  (typeof mode === 'number' && (mode & 0o044) === 0) ||
  (typeof path === 'string' &&
    /(?:pull-secret|\/auth\.json|\.docker\/config\.json|kubelet\/config\.json)$/.test(path));

/**
 * Secrets of an Ignition config, even of an invalid one: hashes of passwords, values of headers,
 * users and passwords in addresses, keys of LUKS, and content that only root may read.
 */
export const secretsInIgnition = (text: string): readonly Secret[] =>
  secretWords(jsonIn(text) as Value | undefined)
    .filter(isLongEnough)
    .map((word) => new Secret(word));

/**
 * @param name the member with this value, or with the list around it
 * @param isPrivate whether an object around it is for root alone
 */
function secretWords(value: Value | undefined, name = '', isPrivate = false): readonly string[] {
  if (typeof value === 'string') return name === 'passwordHash' ? [value] : hiddenInWords([value]);
  if (isList(value)) return value.flatMap((item) => secretWords(item, name, isPrivate));
  if (!isFields(value)) return [];
  const isForRootAlone = isPrivate || isForRoot(value);
  const words = Object.entries(value).flatMap(([member, part]) =>
    secretWords(part, member, isForRootAlone || member === 'keyFile'),
  );
  if (name === 'httpHeaders') words.push(...wordsOfHeader(textOf(value['value'])));
  const content = ['contents', 'keyFile'].includes(name) ? contentOf(value) : undefined;
  if (content === undefined) return words;
  // Content may be a config itself, such as the MachineConfig that a pool serves to a new node.
  const config = jsonIn(content);
  if (isFields(config)) words.push(...secretWords(config, '', isPrivate));
  if (isPrivate) words.push(...credentialsIn(content).secrets.map((secret) => secret.reveal()));
  return words;
}

/**
 * The value itself and, for `Bearer TOKEN` or `Basic USER:PASSWORD`, the text after the word, and
 * the password alone.
 */
function wordsOfHeader(value: string): readonly string[] {
  const [, credentials = ''] = /^\w+\s+(.+)$/s.exec(value) ?? [];
  return [value, ...wordsOf(['auth', credentials])];
}

function contentOf({ source, compression }: Fields): string | undefined {
  if (typeof source !== 'string' || !isDataUrl(source)) return undefined;
  try {
    const resource = { source, compression: textOf(compression) };
    const bytes = decodeResource(resource, longestContent);
    return Buffer.from(bytes).toString('utf8').slice(0, longestContent);
  } catch {
    return undefined;
  }
}
