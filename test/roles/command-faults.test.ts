// Each kind of command fault ends a run with its cause, or the run continues without it. A command
// that fails with its effect, or without it, is in failing-commands.test.ts.
import { describe, expect, it } from 'vitest';
import { runCommands } from './command-hosts.ts';
import { cornerOf } from './corners.ts';
import type { CommandFault } from './faulty-host.ts';

const worker = { host: { config: cornerOf('worker', {}), plan: {} } };

/** Runs a worker on which a command of a step has a fault. */
const runWith = (step: string, command: RegExp, fault: CommandFault) =>
  runCommands(worker, (by, argv) =>
    by === step && command.test(argv.join(' ')) ? fault : undefined,
  );

describe('a worker', () => {
  it.each([
    ['disk/resolve', /^lsblk /, 'missing', 'command.not-found', 1],
    ['disk/resolve', /^lsblk /, 'fails', 'command.failed', 1],
    ['disk/resolve', /^lsblk /, 'hangs', 'command.timed-out', 1],
    ['disk/resolve', /^lsblk /, 'garbage', 'disk.unreadable', 1],
    ['image/write', /^coreos-installer /, 'missing', 'command.not-found', 3],
    ['image/write', /^coreos-installer /, 'fails', 'image.writer-failed', 3],
    ['image/write', /^coreos-installer /, 'hangs', 'image.stalled', 1],
    ['finish/leave-host', /^shutdown /, 'fails', 'command.failed', 1],
  ] as const)('fails in %s: %s %s', async (step, command, fault, code, attempts) => {
    const { error, events } = await runWith(step, command, fault);
    expect(error).toMatchObject({ code, hint: expect.stringMatching(/./) as string });
    const program = /[\w-]+/.exec(command.source)?.[0];
    if (code.startsWith('command.')) expect(String(error)).toContain(program);
    expect(
      events.filter((event) => event.type === 'step.started' && event.step === step),
    ).toHaveLength(attempts);
  });

  it.each([
    ['disk/set-boot-entry', /^efibootmgr .* -c /, 'fails', 'boot.not-set'],
    ['disk/set-boot-entry', /^efibootmgr -v$/, 'missing', 'command.not-found'],
  ] as const)('continues with a warning in %s: %s %s', async (step, command, fault, code) => {
    const { error, events } = await runWith(step, command, fault);
    expect(error).toBeUndefined();
    const warned = events.flatMap((event) =>
      event.type === 'note' && event.level === 'warn' ? [event.fields['code']] : [],
    );
    expect(warned).toContain(code);
  });
});
