import { dirname } from 'node:path';
import type { Program, Programs } from '../call.ts';
import { mkdir, writeFile } from '../prompt-files.ts';
import { sortWords } from './words.ts';

const nothing: Program = () => 0;

/** Where systemd keeps a shutdown that was ordered for later. */
const SCHEDULED = '/run/systemd/shutdown/scheduled';

const shutdown: Program = async (machine, call) => {
  const [when = '+1', message = ''] = sortWords(call.argv.slice(1)).rest;
  const place = await machine.files.real(SCHEDULED);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, `MODE=reboot\nWALL_MESSAGE=${message}\n`);
  machine.reboot = { when, message };
  call.err(`Reboot scheduled for later (${when}), use 'shutdown -c' to cancel.\n`);
  return 0;
};

const uname: Program = (_machine, call) => {
  call.out(call.argv.includes('-m') ? 'x86_64\n' : 'Linux\n');
  return 0;
};

/** Takes entries for the journal on its stdin and forgets them. */
const logger: Program = async (_machine, call) => {
  const entries = call.stdin[Symbol.asyncIterator]();
  while ((await entries.next()).done !== true);
  return 0;
};

const flock: Program = async ({ locks }, call) => {
  const words = sortWords(call.argv.slice(1), ['--conflict-exit-code', '-E', '--timeout', '-w']);
  const [name = ''] = words.rest;
  if (locks.has(name)) return Number(words.all('--conflict-exit-code', '-E')[0] ?? 1);
  locks.add(name);
  try {
    for await (const bytes of call.stdin) call.out(Buffer.from(bytes).toString('utf8'));
  } finally {
    locks.delete(name);
  }
  return 0;
};

/** What a log is made of when somebody gathers it. */
const journalctl: Program = ({ hostname }, call) => {
  call.out(`2026-01-01T00:00:00+00:00 ${hostname} lab[1]: nothing was logged\n`);
  return 0;
};

const free: Program = (_machine, call) => {
  call.out(
    '               total        used        free\nMem:           15731        2048       13683\n',
  );
  return 0;
};

/** Programs of the running system. */
export const systemPrograms: Programs = {
  shutdown,
  uname,
  logger,
  flock,
  free,
  journalctl,
  udevadm: nothing,
  sync: nothing,
  true: nothing,
};
