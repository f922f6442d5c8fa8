import { MASK, Secret } from '../model/secret.ts';
import { SecretUrl } from './secret-url.ts';
import { hiddenInWords, withoutUsers } from './shown-url.ts';

/**
 * Removes known secrets from text, in every encoded form, and the users and passwords of all URLs:
 * a redirect or a config of others may name such a URL.
 */
export interface Masker {
  /** Adds a secret, which is masked from now on. */
  readonly register: (secret: Secret) => void;
  readonly mask: (text: string) => string;
}

/** A masker that knows no secret yet. */
export function masker(): Masker {
  const known: SecretForms = { short: new Set(), heads: new Map(), tails: new Map() };
  return {
    register: (secret) => {
      for (const form of formsOf(secret.reveal())) add(known, form);
    },
    mask: (text) => withoutUsers(masked(text, spansIn(text, known))),
  };
}

/** Shorter pieces of an encoded secret would also match harmless text. */
const shortestChunk = 8;

type Chunks = Map<string, Set<string>>;

/**
 * Forms indexed by their first and last letters: there may be thousands, and a text is searched
 * only once.
 */
interface SecretForms {
  readonly short: Set<string>;
  readonly heads: Chunks;
  readonly tails: Chunks;
}

function add({ short, heads, tails }: SecretForms, form: string): void {
  if (form.length < shortestChunk) short.add(form);
  else {
    addTo(heads, form.slice(0, shortestChunk), form);
    addTo(tails, form.slice(-shortestChunk), form);
  }
}

const addTo = (chunks: Chunks, chunk: string, form: string): unknown =>
  chunks.set(chunk, (chunks.get(chunk) ?? new Set()).add(form));

type Span = readonly [from: number, to: number];

function spansIn(text: string, { short, heads, tails }: SecretForms): readonly Span[] {
  const spans: Span[] = [...short].flatMap((form) => placesOf(text, form));
  if (heads.size === 0) return spans;
  for (let at = 0; at + shortestChunk <= text.length; at += 1) {
    const chunk = text.slice(at, at + shortestChunk);
    for (const form of heads.get(chunk) ?? []) {
      const length = lengthOfSame((step) => form[step] === text[at + step], form.length);
      if (isSecret(form, length, text[at + length])) spans.push([at, at + length]);
    }
    const end = at + shortestChunk;
    for (const form of tails.get(chunk) ?? []) {
      const same = (step: number): boolean => form.at(-1 - step) === text[end - 1 - step];
      const length = lengthOfSame(same, form.length);
      const from = end - length;
      // Of a line `login NAME password SECRET`, the end alone may be in a text, without its blank.
      const blanks = Math.max(0, text.slice(from, end).search(/\S/));
      if (isSecret(form, length, blanks > 0 ? ' ' : text[from - 1]))
        spans.push([from + blanks, end]);
    }
  }
  return spans;
}

function placesOf(text: string, form: string): readonly Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + form.length))
    spans.push([at, at + form.length]);
  return spans;
}

function lengthOfSame(isSame: (step: number) => boolean, most: number): number {
  let length = shortestChunk;
  while (length < most && isSame(length)) length += 1;
  return length;
}

/**
 * Whether a match of part of a form is a secret that was cut. A cut text ends there, or has a mark
 * of the cut; less than a quarter of a secret reveals nothing.
 * @param beside the letter beside the match; undefined where the text ends
 */
const isSecret = (form: string, length: number, beside: string | undefined): boolean =>
  length === form.length || (length * 4 >= form.length && /^[\s"'`…]?$/.test(beside ?? ''));

/** Masks overlapping spans as one, so that no letter of a secret remains. */
function masked(text: string, spans: readonly Span[]): string {
  let shown = '';
  let done = 0;
  for (const [from, to] of [...spans].sort(([one, a], [other, b]) => one - other || b - a)) {
    if (from >= done) shown += text.slice(done, from) + MASK;
    done = Math.max(done, to);
  }
  return shown + text.slice(done);
}

const boundary = /^-----(?:BEGIN|END) [A-Z ]+-----$/;

/** openshift-install and the machine-config-server write a kubeconfig without its kind. */
const kubeconfig = /^ *"?(?:kind"?: "?Config"?,?$|current-context"?: )/m;

/**
 * A name or an address in a kubeconfig, which is no secret. An address with a user or a query is
 * one.
 */
const publicLine =
  /^\s*(?:- )?"?(?:apiVersion|kind|server|namespace|name|cluster|user|context|current-context)"?: "?[^\s"@?#]+"?,?$/;

/** The value of a line of YAML, JSON or INI: its key is an ordinary word. */
const value = /^\s*(?:- )?(?:"[^"]+"|[\w.-]+)(?:: | ?= ?)"?(.+?)"?,?$/;

/** All encoded forms of a secret, and of the secret lines of a file. */
function formsOf(secret: string): readonly string[] {
  if (secret === '') return [];
  const isKubeconfig = kubeconfig.test(secret);
  const lines = secret
    .split(/\r?\n/)
    .filter((line) => line.length >= shortestChunk * 2 && !boundary.test(line))
    .filter((line) => !isKubeconfig || !publicLine.test(line))
    .map((line) => {
      const [, text = ''] = value.exec(line) ?? [];
      return text.length < shortestChunk ? line : text;
    });
  return [...new Set([secret, ...lines].flatMap((part) => writtenForms(part)))].filter(
    (form) => form === secret || form.length >= Math.min(shortestChunk, secret.length),
  );
}

function writtenForms(part: string): readonly string[] {
  const json = JSON.stringify(part).slice(1, -1);
  const uri = encodeUri(part);
  return [
    part,
    json,
    // JSON inside JSON, as with Ignition inside an error body.
    JSON.stringify(json).slice(1, -1),
    // Go's encoder writes these characters as \u0026 and the like.
    json.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
    uri,
    uri.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    uri.replaceAll('%20', '+'),
    ...[0, 1, 2].flatMap((offset) => base64At(part, offset)),
  ];
}

/** encodeURIComponent for any text; a lone surrogate makes the original throw. */
const encodeUri = (part: string): string => encodeURIComponent(part.toWellFormed());

/**
 * The part of base64 that every text with the secret at an offset (modulo 3) has: the middle,
 * without the letters at both ends, which also depend on the text beside the secret.
 */
function base64At(part: string, offset: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(part)]);
  const head = [0, 2, 3][offset] ?? 0;
  const whole = Math.floor((bytes.length * 8) / 6);
  const middle = bytes.toString('base64').slice(head, whole);
  if (middle.length < shortestChunk) return [];
  return [middle, middle.replaceAll('+', '-').replaceAll('/', '_')];
}

/** A shorter part of a URL would also match harmless text. */
const shortestPart = 6;

/** A masker with every secret of some settings. */
export function maskerFor(settings: object): Masker {
  const secrets = masker();
  for (const secret of secretValues(settings)) secrets.register(secret);
  return secrets;
}

/** All secrets in the sections of settings, also those in URLs. */
export function secretValues(settings: object): readonly Secret[] {
  const leaves = Object.values(settings)
    .flatMap((section: unknown) => Object.values(section as object) as unknown[])
    .flat();
  const texts = leaves
    .map((leaf) => (leaf instanceof SecretUrl ? leaf.reveal() : leaf))
    .filter((leaf) => typeof leaf === 'string');
  const parts = hiddenInWords(texts).filter(({ length }) => length >= shortestPart);
  return [
    ...leaves.filter((leaf) => leaf instanceof Secret),
    ...parts.map((part) => new Secret(part)),
  ];
}
