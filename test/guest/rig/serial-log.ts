import { existsSync, readFileSync, watch } from 'node:fs';

/** How a wait for a line ended without the line. */
export class GuestError extends Error {
  override readonly name = 'GuestError';
}

/** The output of one serial port of a guest, so far and later. */
export interface SerialLog {
  readonly path: string;
  /** All of it, without the terminal's control sequences. */
  readonly text: () => string;
  /**
   * The first complete line that matches, printed before or after the call.
   *
   * @throws GuestError when the guest or its job ends, falls into the emergency shell or prints no
   * such line in time.
   */
  readonly waitForLine: (pattern: RegExp, deadlineSeconds: number) => Promise<string>;
}

/**
 * Reads a serial log that QEMU writes, until `ended` resolves with the last output of QEMU. A
 * system that gives up prints that only on the console: `others` are the logs that are read for it.
 */
export function openSerialLog(
  path: string,
  ended: Promise<string>,
  others: readonly string[] = [],
): SerialLog {
  const text = () => textOf(path);
  return {
    path,
    text,
    waitForLine: (...wanted) => waitForLine({ path, ended, others }, ...wanted),
  };
}

const textOf = (path: string): string =>
  existsSync(path) ? plainText(readFileSync(path, 'utf8')) : '';

const escape = String.fromCharCode(27);
const subscription = String.fromCharCode(7);
const title = `${escape}\\][^${subscription}${escape}]*(?:${subscription}|${escape}\\\\)?`;
const cursor = `${escape}\\[[0-9;?!]*[a-zA-Z]|${escape}[a-zA-Z=>()][0-9B]?`;
const control = new RegExp(`${title}|${cursor}|\r`, 'g');

/** Text of a terminal without colours, titles, cursor movements and carriage returns. */
export function plainText(raw: string): string {
  return raw.replaceAll(control, '');
}

interface Watched {
  readonly path: string;
  readonly ended: Promise<string>;
  readonly others: readonly string[];
}

/** A system that will say nothing more, or a job that has ended and prints no other line. */
const lastWords = /Entering emergency mode|Kernel panic - not syncing|^LIVE-JOB-RC=\d+$/m;

async function waitForLine(
  { path, ended, others }: Watched,
  pattern: RegExp,
  deadlineSeconds: number,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const fail = (why: string) =>
    reject(
      new GuestError(
        [`${why}; waited for ${String(pattern)}`, ...[path, ...others].map(tail)].join('\n'),
      ),
    );
  const poll = () => {
    const text = textOf(path);
    const line = completeLines(text).find((candidate) => pattern.test(candidate));
    if (line !== undefined) resolve(line);
    else if ([text, ...others.map(textOf)].some((log) => lastWords.test(log)))
      fail('the guest gave up');
  };
  const watchers = [path, ...others].map((log) => watch(log, poll));
  const timer = setTimeout(
    () => fail(`no such line in ${deadlineSeconds} s`),
    deadlineSeconds * 1000,
  );
  void ended.then((last) => {
    poll();
    fail(`the guest ended ${last}`);
  });
  poll();
  try {
    return await promise;
  } finally {
    for (const watcher of watchers) watcher.close();
    clearTimeout(timer);
  }
}

function completeLines(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

function tail(path: string): string {
  return [`the end of ${path}:`, ...textOf(path).split('\n').slice(-20)].join('\n');
}
