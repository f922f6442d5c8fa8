import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

import { type BuildLog, type Command, PartError } from './part.ts';

const tailLines = 25;

/** Opens an empty log file; commands run through it leave all their output there. */
export function openBuildLog(path: string): BuildLog & Disposable {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = openSync(path, 'w');
  return {
    path,
    run: (command) => runLogged(command, descriptor, path),
    [Symbol.dispose]() {
      closeSync(descriptor);
    },
  };
}

async function runLogged(command: Command, descriptor: number, path: string): Promise<void> {
  const [program, ...args] = command.argv;
  writeSync(descriptor, `+ ${command.argv.join(' ')}\n`);
  const child = spawn(program, args, {
    stdio: ['ignore', descriptor, descriptor],
    cwd: command.cwd,
    env: { ...process.env, ...command.environment },
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return;
  const how = signal === null ? `ended with code ${String(code)}` : `was ended by ${signal}`;
  throw new PartError(`${program} ${how}; the end of ${path}:\n${tailOf(path)}`);
}

function tailOf(path: string): string {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.slice(-tailLines).join('\n');
}
