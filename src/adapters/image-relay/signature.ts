import type { ServerResponse } from 'node:http';
import type { Web } from '../../ports/web.ts';

/** A detached signature of GPG has some hundred bytes. */
const largestBytes = 64 * 1024;

/** Some servers let a request for a file that is not there wait; the image does not wait for it. */
const patienceMillis = 20_000;

/** The signature beside an image, where coreos-installer looks for it: the query stays behind. */
export function signatureUrl(imageUrl: string): string {
  const url = new URL(imageUrl);
  url.pathname += '.sig';
  return url.href;
}

/** Answers with the signature of an image, or with 404 when none can be had. */
export async function handOnSignature(
  web: Web,
  imageUrl: string,
  { response, signal }: { readonly response: ServerResponse; readonly signal: AbortSignal },
): Promise<void> {
  const signature = await readSignature(web, signatureUrl(imageUrl), signal);
  if (signature === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-length': signature.length }).end(signature);
}

async function readSignature(
  web: Web,
  url: string,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const patient = AbortSignal.any([signal, AbortSignal.timeout(patienceMillis)]);
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    const { body } = await web.open(url, { signal: patient });
    for await (const piece of body) {
      pieces.push(piece);
      length += piece.length;
      if (length > largestBytes) return undefined;
    }
  } catch {
    // RHCOS images have no signature: that there is none is the usual case and no error.
    return undefined;
  }
  return Buffer.concat(pieces);
}
