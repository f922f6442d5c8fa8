import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { liveRoot, qemu } from '../../scripts/parts/scripted.ts';
import { jobResult, startLiveGuest } from './rig/live-guest.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

let folder: TestFolder;

beforeAll(async () => {
  await ensureParts([qemu, liveRoot]);
  folder = createTestFolder('rig');
});

afterAll(() => {
  folder[Symbol.dispose]();
});

it('a power cut ends a guest and all waits for it', async () => {
  const live = { script: 'exit 0', disks: [] };
  await using guest = await startLiveGuest(live, folder.path, 'cut');
  await guest.console.waitForLine(/Linux version/, 1200);
  const wait = jobResult(guest, 1200);
  await Promise.all([guest.powerCut(), expect(wait).rejects.toThrow('the guest ended')]);
});
