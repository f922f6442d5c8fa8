// Watching files of the host by the real adapter: what can befall a directory, and what stays behind.
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { standInNsenter } from './real/host-subjects.ts';

let root: string;
let ran: string[];
let ending: AbortController;
let watches: Promise<void>[];
beforeEach(async () => {
  // Not below /tmp, which the host shares.
  root = await mkdtemp(join(process.env['XDG_RUNTIME_DIR'] ?? '/var', 'bootwright-watch-'));
  await mkdir(join(root, 'opt/dir'), { recursive: true });
  await mkdir(join(root, lookout), { recursive: true });
  ran = [];
  ending = new AbortController();
  watches = [];
});
afterEach(async () => {
  ending.abort(new Error('the test is over'));
  await Promise.all(watches);
  await rm(root, { recursive: true, force: true });
});

/** Watches paths; the function waits for the next ring after it was called. */
async function watching(...paths: readonly string[]): Promise<{
  readonly notified: () => Promise<void>;
  readonly count: () => number;
}> {
  const environment = { PATH: await standInNsenter(root) };
  const host = nsenterHost({
    root,
    environment,
    pollInterval: 100,
    onCommand: ({ argv }) => ran.push(argv.join(' ')),
  });
  let count = 0;
  let heard = 0;
  watches.push(host.watch(paths, () => (count += 1), ending.signal));
  const notified = async (): Promise<void> => {
    await expect.poll(() => count, { interval: 5 }).toBeGreaterThan(heard);
    heard = count;
  };
  await notified();
  return { notified, count: () => count };
}

/** Further down than whatever the tests watch: a change here takes more looks to be told of. */
const lookout = 'opt/lookout/1/2/3';

/** Lets everything that has happened be told of: the kernel tells of a later change behind it. */
async function quiet(): Promise<void> {
  const { notified } = await watching(`/${lookout}/file`);
  await writeFile(at(`${lookout}/file`), 'x');
  await notified();
}

/** Number of directories that this process has asked the kernel to watch. */
async function kernelWatches(): Promise<number> {
  const texts = await Promise.all(
    (await readdir('/proc/self/fdinfo')).map((fd) =>
      readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => ''),
    ),
  );
  return texts
    .join('\n')
    .split('\n')
    .filter((line) => line.startsWith('inotify wd:')).length;
}

const at = (path: string): string => join(root, path);

describe('a path that is shared with the host', () => {
  it('is heard of when its directory is removed and made again', async () => {
    const { notified } = await watching('/opt/dir/file');
    await rm(at('opt/dir'), { recursive: true });
    await notified();
    await mkdir(at('opt/dir'));
    await quiet();
    await notified();
    await writeFile(at('opt/dir/file'), 'x');
    await notified();
    expect(ran).toEqual([]);
  });

  it('is heard of when another directory is put in the place of its own', async () => {
    const { notified } = await watching('/opt/dir/file');
    await mkdir(at('opt/other'));
    await rename(at('opt/dir'), at('opt/old'));
    await rename(at('opt/other'), at('opt/dir'));
    await notified();
    await quiet();
    await writeFile(at('opt/dir/file'), 'x');
    await notified();
    expect(ran).toEqual([]);
  });

  it('is heard of when a directory far above comes later', async () => {
    const { notified } = await watching('/var/log/containers/x.log');
    await mkdir(at('var/log/containers'), { recursive: true });
    await notified();
    await quiet();
    await writeFile(at('var/log/containers/x.log'), 'x');
    await notified();
    await quiet();
    await appendFile(at('var/log/containers/x.log'), 'y');
    await notified();
    expect(ran).toEqual([]);
  });

  it('is not heard of for what happens beside it', async () => {
    await writeFile(at('opt/dir/file'), 'x');
    const { count } = await watching('/opt/dir/file');
    await writeFile(at('opt/dir/beside'), 'x');
    await writeFile(at('opt/beside'), 'x');
    await quiet();
    expect(count()).toBe(1);
  });

  it('is told of every 10 ms at most', async () => {
    await writeFile(at('opt/dir/file'), 'x');
    const { notified, count } = await watching('/opt/dir/file');
    const [before, since] = [count(), performance.now()];
    for (let line = 0; line < 200; line += 1) await appendFile(at('opt/dir/file'), 'x');
    await notified();
    // A timer may fire a moment early; one that was under way may still come.
    const most = (performance.now() - since) / 9 + 2;
    await quiet();
    expect(count() - before).toBeLessThanOrEqual(most);
  });

  it('is looked at on the host when a link leads out of what is shared', async () => {
    await mkdir(at('srv'));
    await symlink(at('srv/target'), at('opt/dir/link'));
    const { notified } = await watching('/opt/dir/link');
    await writeFile(at('srv/target'), 'x');
    await notified();
    await rm(at('opt/dir/link'));
    await notified();
  });

  it('leaves nothing behind', async () => {
    const before = await kernelWatches();
    const several = await Promise.all([
      watching('/opt/dir/file', '/opt/dir'),
      watching('/opt/dir/file', '/var/log/x'),
    ]);
    expect(await kernelWatches()).toBeGreaterThan(before);
    expect(several).toHaveLength(2);
    ending.abort(new Error('enough'));
    await Promise.all(watches);
    expect(await kernelWatches()).toBe(before);
  });
});

it('a path that is not shared is looked at in silence', async () => {
  const { notified } = await watching(at('srv/file'));
  await mkdir(at('srv'));
  await writeFile(at('srv/file'), 'x');
  await notified();
  expect(ran).toEqual([]);
});
