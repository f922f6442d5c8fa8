import { describe, expect, it } from 'vitest';
import { layerUser } from '../../../test/layering/layer-command.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';

const { at, file, files, layer } = layerUser();

/** A failure in any of these comes before a program is looked for; a process in a unit test is an error of its own. */
describe.each(['build', 'push'])('layer %s', (action) => {
  it.each([
    ['is not there', 'config.file-not-read', undefined],
    ['is no pull secret', 'layering.bad-credentials', '[]'],
  ])('refuses credentials in a file that %s', async (...[, code, content]) => {
    if (content !== undefined) file('auth.json', content);
    const words = [...files(), '--authfile', at('auth.json'), '--storage', at('s')];
    await expect(layer(action, ...words)).rejects.toMatchObject({
      code,
      kind: 'input',
      message: expect.stringContaining('auth.json') as string,
    });
  });

  it('refuses what layer lint refuses', async () => {
    const osConfig = osConfigObject({ containerFile: [{ content: 'FROM scratch\n' }] });
    await expect(layer(action, ...files(osConfig))).rejects.toMatchObject({
      code: 'layering.os-config-invalid',
      message: expect.stringContaining('the last stage is built on scratch') as string,
    });
  });
});
