import { X509Certificate } from 'node:crypto';

/** The PEM certificates in a text, each with its first and last line; not parsed yet. */
export const certificateBlocks = (text: string): readonly string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

/**
 * Only the certificates of a text, so that every program reads them: Go finds none after a byte
 * order mark, and neither Go nor OpenSSL finds them where two files were joined without a line
 * break.
 */
export const certificateBundle = (text: string): string =>
  certificateBlocks(text)
    .map((block) => `${block.replaceAll('\r\n', '\n')}\n`)
    .join('');

/**
 * The reason why a host cannot trust the certificates in a text, worded to follow a file name;
 * undefined if it can.
 * @param now milliseconds since 1970
 */
export function authorityProblem(text: string, now: number): string | undefined {
  if (text.includes('PRIVATE KEY-----')) return 'holds a private key, which every user could read';
  const ends: number[] = [];
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (begun > certificateBlocks(text).length) return 'holds a certificate that is cut, or broken';
  for (const block of certificateBlocks(text)) {
    try {
      ends.push(new X509Certificate(block).validToDate.getTime());
    } catch {
      return `holds a certificate that cannot be read, number ${ends.length + 1}`;
    }
  }
  if (ends.length === 0) return 'holds no PEM certificate';
  const last = Math.max(...ends);
  return last > now
    ? undefined
    : `has expired: nothing in it is valid after ${new Date(last).toISOString()}`;
}
