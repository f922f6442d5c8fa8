import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentEnds } from './agent-end.ts';
import { openSerialLog } from './serial-log.ts';
import { createTestFolder, type TestFolder } from './test-folder.ts';

let folder: TestFolder;
let print: (text: string) => void;
let end: () => void;
let over: Promise<void>;

beforeEach(() => {
  folder = createTestFolder('agent-end');
  const path = join(folder.path, 'console.txt');
  writeFileSync(path, '');
  print = (text) => appendFileSync(path, text);
  const gone = Promise.withResolvers<string>();
  end = () => gone.resolve('');
  const ended = () => gone.promise.then(() => undefined);
  over = agentEnds({ console: openSerialLog(path, gone.promise), ended }, 30);
});
afterEach(() => {
  end();
  folder[Symbol.dispose]();
});

it('ends with the guest', async () => {
  print('[   40.2] bootwright[235]: {"msg":"step started"}\n');
  end();
  await over;
});

it('ends when the agent has said why it failed, and the guest stays on', async () => {
  print('[   50.5] bootwright[235]: failed: disk.missing: there is no disk\n');
  print('[   50.6] bootwright[235]: logs: /run/bootwright/logs.tar.gz\n');
  await expect(over).rejects.toThrow('the agent has failed');
});
