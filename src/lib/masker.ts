import { MASK, type Secret } from '../model/secret.ts';

/** Takes secrets out of text, whatever form they took on the way there. */
export interface Masker {
  /** Everything masked later has this secret taken out. */
  readonly register: (secret: Secret) => void;
  readonly mask: (text: string) => string;
}

/** A masker that knows no secret yet. */
export function masker(): Masker {
  const forms = new Set<string>();
  let longestFirst: readonly string[] = [];
  return {
    register: (secret) => {
      for (const form of formsOf(secret.reveal())) forms.add(form);
      // A form may be part of another one, which then must go first.
      longestFirst = [...forms].sort((one, other) => other.length - one.length);
    },
    mask: (text) => longestFirst.reduce((masked, form) => masked.replaceAll(form, MASK), text),
  };
}

/** Shorter pieces of an encoded secret would also be found in harmless text. */
const shortestChunk = 8;

/** Every form in which a secret can stand in a text. */
function formsOf(secret: string): readonly string[] {
  if (secret === '') return [];
  const lines = secret.split(/\r?\n/).filter((line) => line.length >= shortestChunk * 2);
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
    // JSON inside JSON, as Ignition inside an error body.
    JSON.stringify(json).slice(1, -1),
    // Go's encoder writes these as \u0026 and the like.
    json.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
    uri,
    uri.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    uri.replaceAll('%20', '+'),
    ...[0, 1, 2].flatMap((offset) => base64At(part, offset)),
  ];
}

/** encodeURIComponent for any text; half of a surrogate pair makes that throw. */
const encodeUri = (part: string): string => encodeURIComponent(part.toWellFormed());

/**
 * What is in base64 of any text that has the secret at an offset (modulo 3): the middle, without
 * the letters at both ends that also depend on what stands beside the secret.
 */
function base64At(part: string, offset: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(part)]);
  const head = [0, 2, 3][offset] ?? 0;
  const whole = Math.floor((bytes.length * 8) / 6);
  const middle = bytes.toString('base64').slice(head, whole);
  if (middle.length < shortestChunk) return [];
  return [middle, middle.replaceAll('+', '-').replaceAll('/', '_')];
}
