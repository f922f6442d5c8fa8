import { describe, expect, it } from 'vitest';
import { publishedFor, renderedFor } from '../../../test/layering/lane-facts.ts';
import { renderedText } from '../../../test/layering/rendered.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { serveImages } from './config-server.ts';

const config = { cluster: { openshiftVersion: '4.21.0' } };
const pools = ['master', 'worker'];
const facts = { published: publishedFor(pools) };
const fileOf = (pool: string): string => renderedFor(pool).file;
/** A host on which `systemd-run` has started the unit or not. */
const emptyHost = () => {
  let isActive = false;
  const machine = fakeHost().on(['install', rest]).succeeds();
  machine.on(['systemctl', 'show', rest]).answers(() => (isActive ? 'active' : 'inactive'));
  return machine.on(['systemd-run', rest]).answers(() => {
    isActive = true;
  });
};
const host = () =>
  pools.reduce((machine, pool) => machine.withFile(fileOf(pool), renderedText(pool)), emptyHost());

describe('layering/serve-images', () => {
  it('watches nothing where no image is served from here', async () => {
    const machine = host();
    const published = publishedFor(['worker']);
    await runStep(serveImages, { host: machine, config, facts: { ...facts, published } });
    expect(machine.ran).toEqual([]);
  });

  it('fails when the file does not keep it', async () => {
    const machine = host();
    const lossy = {
      ...machine,
      writeFile: () => Promise.resolve({ path: '', bytes: 0, sha256: '' }),
    };
    const { failure } = await tryStep(serveImages, { host: lossy, config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-served' });
  });

  it('fails when the file has gone', async () => {
    const { failure } = await tryStep(serveImages, { host: emptyHost(), config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-rendered' });
  });
});
