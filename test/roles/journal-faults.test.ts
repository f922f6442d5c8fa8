import { isDeepStrictEqual } from 'node:util';
import { rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fileJournal } from '../../src/adapters/journal.ts';
import type { Journal } from '../../src/engine/journal.ts';
import { AgentError } from '../../src/model/failure.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { cornerOf, type Kind } from './corners.ts';
import { faultyHost, workClock } from './faulty-host.ts';
import { hostFolder } from './host-folders.ts';
import { type Life, live } from './processes.ts';
import { withStepHosts } from './step-hosts.ts';
import { type Host, newWorld, stateOf, type World } from './world.ts';

/** The error of a disk from its fault on. */
const errors = { 'full disk': 'ENOSPC', 'read-only': 'EROFS' };
type DiskFault = keyof typeof errors;

/**
 * The outcome of a failed write, by the line of the journal. `ends`: the run ends with
 * `journal.not-kept`; `warns`: it ends as usual, and a warning says that the journal does not;
 * `continues`: the run ends at the next line that it needs, if there is one.
 */
const outcomes: Readonly<Record<string, 'ends' | 'warns' | 'continues'>> = {
  header: 'ends',
  started: 'ends',
  finished: 'ends',
  // The step that leaves the host has finished: the host reboots.
  left: 'warns',
  failed: 'warns',
  stopped: 'warns',
  // A step beside the run, or at its end, begins or ends.
  aside: 'continues',
};

/** The disk of the journal: the number of lines before its fault, and the refused line. */
interface Disk {
  fault: DiskFault;
  takes: number;
  refused: string | undefined;
}
const sound = Number.POSITIVE_INFINITY;
const disk: Disk = { fault: 'full disk', takes: sound, refused: undefined };
let folder: string;

beforeEach(async () => {
  folder = hostFolder();
  disk.refused = undefined;
  const handle = await open('/dev/null');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  // oxlint-disable-next-line typescript/unbound-method -- called with its own file below
  const original = prototype.appendFile;
  vi.spyOn(prototype, 'appendFile').mockImplementation(async function append(
    this: FileHandle,
    data,
  ) {
    disk.takes -= 1;
    if (disk.takes >= 0) return original.call(this, data);
    const line = data as string;
    disk.refused ??= line;
    if (disk.fault === 'full disk') await original.call(this, line.slice(0, 20));
    throw Object.assign(new Error('the fault of a test'), { code: errors[disk.fault] });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** The line that the disk has refused so far. */
const refused = (): string | undefined => disk.refused;

const path = (): string => join(folder, 'install-dir/journal.jsonl');

/** One process with a journal in a file, which accepts this many lines. */
async function processOn(
  world: World,
  { config }: Host,
  how: Partial<Pick<Disk, 'fault' | 'takes'>> = {},
): Promise<Life & { readonly commands: number }> {
  disk.takes = how.takes ?? sound;
  disk.fault = how.fault ?? 'full disk';
  const clock = workClock();
  const { busy } = clock;
  const file = fileJournal(path());
  const journal: Journal = {
    read: () => busy(file.read()),
    append: (line, options) => busy(file.append(line, options)),
    setAside: () => busy(file.setAside()),
  };
  const before = world.machine.ran.length;
  const life = await live(world, {
    config,
    journal,
    commands: 1e6,
    time: clock,
    changed: (role) =>
      withStepHosts(role, (step, own) =>
        faultyHost(own, { step, clock, faultOf: () => undefined }),
      ),
  });
  await file.close();
  return { ...life, commands: world.machine.ran.length - before };
}

/** The line that was to be written when the disk failed, and its step. */
function refusedWrite(aside: readonly string[] = []) {
  const { type = '', step = '' } = JSON.parse(disk.refused ?? '{}') as Record<string, string>;
  const isLast = type === 'finished' && step === 'finish/leave-host';
  return { write: aside.includes(step) ? 'aside' : isLast ? 'left' : type, step };
}

const messageOf = ({ error }: Life): string => (error instanceof Error ? error.message : 'none');

/** Whether a text names the file and the error of the disk. */
const namesCause = (words: string, fault: DiskFault): boolean =>
  words.includes(`${path()} cannot be written: ${errors[fault]}`);

const warnings = ({ events }: Life): readonly string[] =>
  events.flatMap((event) =>
    event.type === 'note' && event.level === 'warn' ? [String(event.fields['reason'] ?? '')] : [],
  );

/** The action of a run at the fault of its disk that violates the table. */
function violationOf(
  life: Life & { readonly commands: number },
  { config }: Host,
  fault: DiskFault,
): string | undefined {
  const { follow = [], always = [] } = chooseRole(config);
  const { write, step } = refusedWrite([...follow, ...always].map(({ id }) => id));
  const isEnded = life.error instanceof AgentError && life.error.code === 'journal.not-kept';
  const words = isEnded ? [messageOf(life)] : warnings(life);
  const isAsSaid = {
    ends: isEnded && words.some((one) => namesCause(one, fault)),
    warns: !isEnded && words.some((one) => namesCause(one, fault)),
    continues: isEnded || life.error === undefined,
  };
  const outcome = outcomes[write];
  const hasBegun = life.events.some(
    (event) => event.type === 'step.started' && event.step === step,
  );
  // The run may not act on a line that the disk refused.
  const isDone = (write === 'header' && life.commands > 0) || (write === 'started' && hasBegun);
  if (outcome !== undefined && isAsSaid[outcome] && !isDone) return undefined;
  return `${disk.refused ?? ''}: ${messageOf(life)}, ${life.commands} commands, ${words.join('; ')}`;
}

const header = { type: 'header', v: 1, role: 'master', version: '1', bootId: 'b' };
const roles: readonly Kind[] = ['bootstrap', 'single node', 'master', 'arbiter', 'worker'];

describe.each(roles)('the journal of a %s', (kind) => {
  const host: Host = { config: cornerOf(kind, {}), plan: {} };

  it('is read up to its last complete line after any truncation', async () => {
    const world = newWorld(host);
    await processOn(world, host);
    const lines = (await readFile(path(), 'utf8')).split('\n').slice(0, -1);
    for (const [index, line] of lines.entries()) {
      const whole = lines.slice(0, index);
      const torn = line.slice(0, Math.ceil(line.length / 2));
      await writeFile(path(), [...whole, torn].join('\n'));
      expect(await fileJournal(path()).read()).toEqual(whole);
    }
    expect(lines.length).toBeGreaterThan(30);
  });

  it('has the outcome of the table at each failed write, and is resumed', async () => {
    const straight = newWorld(host);
    await processOn(straight, host);
    const lines = (await readFile(path(), 'utf8')).split('\n').length - 1;
    const violations: string[] = [];
    for (let takes = 0; takes < lines; takes += 1) {
      // Both faults have the same effect; each occurs with each kind of write.
      const fault: DiskFault = takes % 4 < 2 ? 'full disk' : 'read-only';
      rmSync(dirname(path()), { recursive: true });
      disk.refused = undefined;
      const world = newWorld(host);
      const life = await processOn(world, host, { takes, fault });
      // Lines of steps in parallel lists are written in any order; the last ones may not be written
      // at all.
      if (refused() === undefined) continue;
      const violation = violationOf(life, host, fault);
      if (violation !== undefined) violations.push(`${takes} ${fault}: ${violation}`);
      // The start of a step has changed nothing: another crash point covers that.
      if (life.outcome === undefined && refusedWrite().write !== 'started') {
        const next = await processOn(world, host);
        if (next.error !== undefined) violations.push(`${takes}: ${messageOf(next)}`);
        if (!isDeepStrictEqual(stateOf(world), stateOf(straight))) {
          violations.push(`${takes} ${fault}: it leaves another state`);
        }
      }
      rmSync(world.machine.files.root, { recursive: true });
    }
    expect(violations).toEqual([]);
  });
});

it('fails before any command when the journal of an earlier run cannot be set aside', async () => {
  const host: Host = { config: cornerOf('master', {}), plan: {} };
  // A folder at its new name: the disk refuses to rename it.
  await mkdir(`${path()}.old/in-the-way`, { recursive: true });
  await writeFile(path(), `${JSON.stringify({ ...header, fingerprint: 'another' })}\n`);
  const life = await processOn(newWorld(host), host);
  expect(life.error).toMatchObject({ code: 'journal.not-kept', context: { path: path() } });
  expect(life.commands).toBe(0);
});
