import { describe, expect, it } from 'vitest';
import type { FinalOs } from '../install/ignition.ts';
import { renderedFor } from '../install/outside.ts';

describe('the machine-config-server of a virtual machine whose image is built', () => {
  it('answers 500 until the image is there, and names it then', async () => {
    const known: FinalOs[] = [];
    const ask = (): Response => renderedFor(() => known[0]);
    expect(ask().status).toBe(500);
    const image = 'registry.test/ocl/master@sha256:1';
    known.push({ osImageURL: image, kernelArguments: [] });
    const answer = ask();
    expect(answer.status).toBe(200);
    expect(decodeURIComponent(await answer.text())).toContain(image);
  });
});
