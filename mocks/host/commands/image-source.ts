import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../call.ts';
import type { Machine } from '../machine.ts';
import { stat } from '../prompt-files.ts';
import type { Words } from './words.ts';

/** How much of an image was read. */
export interface ReadSoFar {
  readonly bytes: number;
  /** Undefined when the server did not say. */
  readonly total: number | undefined;
}

/** Where the image comes from: what is printed first, and the reading of it. */
export interface ImageSource {
  readonly announcement: string;
  readonly read: () => AsyncIterable<ReadSoFar>;
}

const MEBIBYTE = 2 ** 20;

/** Chooses the source as coreos-installer does: URL, file, the live medium's own image. */
export function imageSource(machine: Machine, call: Call, words: Words): ImageSource {
  const [url] = words.all('--image-url', '-u');
  const [file] = words.all('--image-file', '-f');
  if (url !== undefined) {
    return {
      announcement: `Downloading image from ${url}\nDownloading signature from ${url}.sig\n`,
      read: () => download(url, call.signal),
    };
  }
  if (file !== undefined) {
    return {
      announcement: `Copying image from ${file}\nReading signature from ${file}.sig\n`,
      read: async function* () {
        const { size } = await stat(await machine.files.real(file));
        yield* timed(machine, call, size);
      },
    };
  }
  return {
    announcement: 'Installing Lab CoreOS x86_64 (512-byte sectors)\n',
    read: () => timed(machine, call, machine.writer.mebibytes * MEBIBYTE),
  };
}

async function* download(url: string, signal: AbortSignal): AsyncGenerator<ReadSoFar> {
  const answer = await fetch(url, { signal });
  if (!answer.ok || answer.body === null)
    throw new Error(`fetching '${url}': HTTP ${answer.status}`);
  const length = answer.headers.get('content-length');
  const total = length === null ? undefined : Number(length);
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    yield { bytes, total };
  }
}

async function* timed(
  { writer }: Machine,
  { signal }: Call,
  total: number,
): AsyncGenerator<ReadSoFar> {
  const steps = Math.max(1, Math.round((writer.seconds * 1000) / writer.lineMillis));
  for (let step = 1; step <= steps; step += 1) {
    await sleep((writer.seconds * 1000) / steps, undefined, { signal });
    yield { bytes: (total * step) / steps, total };
  }
}
