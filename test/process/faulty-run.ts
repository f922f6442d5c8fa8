import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type AgentProcess, startAgent } from '../../mocks/lab/agent.ts';
import {
  openSingleHost,
  type SingleHost,
  type SingleHostPlan,
  singleIds,
} from '../../mocks/lab/single-host.ts';
import type { RunEvent } from '../../src/engine/events.ts';

export const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');

/** The token of an agent. */
export const token = 'token-of-the-test';

/** Opens a host for a quick installation of a master, unless the plan says otherwise. */
export const openHost = (plan: Partial<SingleHostPlan> = {}): Promise<SingleHost> =>
  openSingleHost({
    role: 'master',
    isControlPlaneDone: true,
    write: { seconds: 0.3, flushSeconds: 0, lineMillis: 20 },
    token,
    ...plan,
  });

/** Starts the built agent on a host, with further arguments and variables. */
export const startOn = (
  { folder, words, environment }: SingleHost,
  {
    args = [],
    env = {},
  }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): AgentProcess =>
  startAgent({
    bundle,
    logFile: join(folder, 'agent.log'),
    args: [...words, ...args],
    env: { ...environment, ...env },
  });

/** The output of an agent so far. */
export const logOf = ({ folder }: SingleHost): string =>
  readFileSync(join(folder, 'agent.log'), 'utf8');

/** A fault of a run. */
export interface Fault {
  readonly plan?: Partial<SingleHostPlan>;
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Breaks the host or the service before the agent starts; may return an undo function. */
  readonly before?: (host: SingleHost) => (() => void) | void;
  /** Runs at the same time as the agent. */
  readonly beside?: (host: SingleHost, agent: AgentProcess) => Promise<void>;
}

/**
 * Runs the built agent under a fault; resolves with its end and the resulting status at the
 * service.
 */
export async function runUnder({ plan, words = [], env = {}, before, beside }: Fault) {
  await using host = await openHost(plan);
  const undo = before?.(host);
  try {
    const agent = startOn(host, { args: words, env });
    await beside?.(host, agent);
    const { exitCode } = await agent.ended;
    const record = host.inventory.store.hosts().find(({ id }) => id === singleIds.host);
    const { status, statusInfo } = record ?? {};
    const ran = host.machine.ran.map(({ argv }) => argv[0]);
    return { exitCode, status, statusInfo, ran, log: logOf(host) };
  } finally {
    if (typeof undo === 'function') undo();
  }
}

const optOf = (host: SingleHost): string => join(host.folder, 'root/opt');
/** Puts a file at a path where it blocks the agent's own files. */
export const writeIn = (host: SingleHost, path: string): void => {
  const file = join(host.folder, 'root', path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, 'in the way');
};

/** Fills a file system except for some KiB. */
export function fullBut(host: SingleHost, kib: number): () => void {
  const opt = optOf(host);
  mkdirSync(opt, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', opt]);
  writeFileSync(join(opt, 'filler'), Buffer.alloc((256 - kib) * 1024));
  return () => execFileSync('umount', [opt]);
}

/**
 * Runs a line of shell before a command, also if the command runs under a lock; `$PPID` is the
 * agent.
 */
export function interpose({ nsenter }: SingleHost, command: string, line: string): void {
  renameSync(nsenter, `${nsenter}.real`);
  const script = `#!/bin/sh\ncase " $* " in *" -- ${command} "*|*" -- flock "*" ${command} "*) ${line};; esac\n`;
  writeFileSync(nsenter, `${script}exec ${nsenter}.real "$@"\n`, { mode: 0o755 });
}

/**
 * Fills the disk of the journal to its last byte when a command runs, then runs a line of shell.
 * Stops the agent meanwhile, at a moment when no status file is half replaced: completing the
 * replacement would free space again.
 */
export function fullFrom(host: SingleHost, command: string, line: string): () => void {
  const undo = fullBut(host, 64);
  const folder = join(optOf(host), 'install-dir');
  const still = `until kill -STOP $PPID; [ ! -s ${folder}/.status.json.part ]; do kill -CONT $PPID; sleep 0.01; done`;
  const fill = `cat /dev/zero >> ${folder}/journal.jsonl 2>/dev/null; kill -CONT $PPID`;
  interpose(host, command, `${still}; ${fill}; ${line}`);
  return undo;
}

/** The option of Node that runs a script before the program. */
export const imports = (script: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(script)}`;

/** Waits until a condition is true, as long as the test may take. */
export async function becomes(what: () => boolean): Promise<void> {
  while (!what()) await pause(5);
}

/** Whether the writer has reported progress; the service gets it up to ten seconds later. */
export function hasWritten({ folder }: SingleHost): boolean {
  const path = join(folder, 'root/opt/install-dir/status.json');
  return existsSync(path) && /"percent":[1-9]/.test(readFileSync(path, 'utf8'));
}

export const cannotWrite = ({ machine }: SingleHost): void => {
  machine.writer.failsAtPercent = [10, 10, 10];
};

/** Stops the agent once it has run a program. */
export const onceRan =
  (program: string): NonNullable<Fault['beside']> =>
  async ({ machine }, agent) => {
    await becomes(() => machine.ran.some(({ argv }) => argv[0] === program));
    agent.stop();
  };

/** The fields of each event in docs/events.md. */
const published = new Map(
  readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, type, fields = ''] = /^\| `([a-z.]+)` +\| .* \| (.*) \|$/.exec(line) ?? [];
      const names = [...fields.matchAll(/`(\w+)\??`/g)].map(([, name = '']) => name);
      return type === undefined ? [] : [[type, new Set(['v', 'type', 'at', 'run', ...names])]];
    }),
);

/** The lines of an event stream that docs/events.md does not describe with all their fields. */
export const unpublishedEvents = (stream: string): readonly string[] =>
  stream
    .trimEnd()
    .split('\n')
    .filter((line) => {
      const event = JSON.parse(line) as RunEvent;
      return !Object.keys(event).every((field) => published.get(event.type)?.has(field));
    });
