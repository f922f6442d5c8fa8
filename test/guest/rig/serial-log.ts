import { existsSync, readFileSync, watch } from 'node:fs';

/** How a wait for a line ended without the line. */
export class GuestError extends Error {
  override readonly name = 'GuestError';
}

/** What one serial port of a guest said so far, and will say. */
export interface SerialLog {
  readonly path: string;
  /** All of it, without the terminal's control sequences. */
  readonly text: () => string;
  /**
   * The first line that matches, once it is complete, said before or after the call.
   *
   * @throws GuestError when the guest ends, falls into the emergency shell or says no such line in
   * time.
   */
  readonly waitForLine: (pattern: RegExp, deadlineSeconds: number) => Promise<string>;
}

/** Reads a serial log that QEMU writes, until `ended` gives what QEMU had to say at its end. */
export function openSerialLog(path: string, ended: Promise<string>): SerialLog {
  const text = () => (existsSync(path) ? plainText(readFileSync(path, 'utf8')) : '');
  return { path, text, waitForLine: (...wanted) => waitForLine({ path, text, ended }, ...wanted) };
}

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
  readonly text: () => string;
  readonly ended: Promise<string>;
}

const emergency = /Entering emergency mode|Kernel panic - not syncing/;

async function waitForLine(
  log: Watched,
  pattern: RegExp,
  deadlineSeconds: number,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const fail = (why: string) =>
    reject(new GuestError(`${why}; waited for ${String(pattern)}\n${tail(log)}`));
  const poll = () => {
    const text = log.text();
    const line = completeLines(text).find((candidate) => pattern.test(candidate));
    if (line !== undefined) resolve(line);
    else if (emergency.test(text)) fail('the guest gave up');
  };
  const watcher = watch(log.path, poll);
  const timer = setTimeout(
    () => fail(`no such line in ${deadlineSeconds} s`),
    deadlineSeconds * 1000,
  );
  void log.ended.then((last) => {
    poll();
    fail(`the guest ended ${last}`);
  });
  poll();
  try {
    return await promise;
  } finally {
    watcher.close();
    clearTimeout(timer);
  }
}

function completeLines(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

function tail(log: Watched): string {
  return [`the end of ${log.path}:`, ...log.text().split('\n').slice(-40)].join('\n');
}
