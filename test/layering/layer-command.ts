import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { bootwright } from '../../src/cli/program/commands.ts';
import { machineConfigObject, osConfigObject } from './samples.ts';

/** A user of `bootwright layer` with a folder of files, and the output of the commands. */
export interface LayerUser {
  readonly at: (name: string) => string;
  /** Writes a file, JSON unless the content is a text, and returns its path. */
  readonly file: (name: string, content: unknown) => string;
  /** The arguments that name both files of a build. */
  readonly files: (osConfig?: unknown, machineConfig?: unknown) => readonly string[];
  readonly layer: (...words: readonly string[]) => Promise<number>;
  readonly out: () => string;
  readonly err: () => string;
}

/** Creates a folder for each test of the file. */
export function layerUser(): LayerUser {
  let folder = '';
  let out: string[] = [];
  let err: string[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bootwright-layer-'));
    [out, err] = [[], []];
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true, force: true });
  });
  const at = (name: string): string => join(folder, name);
  const file = (name: string, content: unknown): string => {
    writeFileSync(at(name), typeof content === 'string' ? content : JSON.stringify(content));
    return at(name);
  };
  return {
    at,
    file,
    files: (osConfig = osConfigObject(), machineConfig = machineConfigObject()) => [
      ...['--os-config', file('os.yaml', osConfig)],
      ...['--rendered-config', file('mc.yaml', machineConfig)],
    ],
    layer: (...words) => bootwright().run(['layer', ...words]),
    out: () => out.join(''),
    err: () => err.join(''),
  };
}
