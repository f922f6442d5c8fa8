import type { Response } from 'undici';
import type { KubeObject } from '../../src/ports/kube.ts';

/** One line of a watch. An `ERROR` carries a `Status` with its `code`, 410 for history that is gone. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

/** The events of a watch until the server ends it; a signal that aborts is an end too, not an error. */
export async function* readWatch(
  open: () => Promise<Response>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  try {
    const { body } = await open();
    if (body === null) return;
    const texts = body.pipeThrough(new TextDecoderStream());
    for await (const line of linesOf(texts as AsyncIterable<string>))
      yield JSON.parse(line) as WatchEvent;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The lines of a text that comes in pieces; what has no end of line yet is kept back. */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
