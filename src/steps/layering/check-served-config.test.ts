import { describe, expect, it } from 'vitest';
import { publishedFor } from '../../../test/layering/lane-facts.ts';
import { masterImage, masterRendered } from '../../../test/layering/layered-pool.ts';
import { servedIgnition } from '../../../test/layering/served.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { webFailure } from '../../adapters/http/failures.ts';
import { minutes } from '../../model/duration.ts';
import { checkServedConfig } from './gates.ts';

const path = '/opt/install-dir/master-h.ign';
const url = 'http://api-int.example:22624/config/master';
const pointerTo = (source: string): string =>
  JSON.stringify({ ignition: { version: '3.2.0', config: { merge: [{ source }] } } });
const embedded = (text: string): string =>
  pointerTo(`data:;base64,${Buffer.from(text).toString('base64')}`);

const facts = {
  published: publishedFor(['master'], { rendered: masterRendered, final: masterImage }),
  ignition: { path, bytes: 1, sha256: '', origin: '', version: '3.2.0' },
};
const config = { role: 'bootstrap', layering: { mode: 'on' } } as const;

const releaseImage = servedIgnition({ rendered: masterRendered, osImage: 'stock' });
const built = servedIgnition({
  rendered: masterRendered,
  osImage: masterImage,
  image: masterImage,
});

const setting = (ignition: string, web = fakeWeb()) => ({
  config,
  facts,
  web,
  clock: fakeClock(),
  host: fakeHost().withFile(path, ignition),
});

describe('layering/check-served-config', () => {
  it('asks the server that the Ignition of this host points to, in Ignition of spec 3', async () => {
    const web = fakeWeb().with(url, built);
    await runStep(checkServedConfig, setting(pointerTo(url), web));
    expect(web.opened).toMatchObject([
      { url, accept: 'application/vnd.coreos.ignition+json; version=3.4.0' },
    ]);
  });

  it('waits until the built image is served, and for a server that comes up', async () => {
    const web = fakeWeb()
      .with(url, releaseImage)
      .failing(url, webFailure('web.refused', `${url} answered 500`), 1);
    const run = setting(pointerTo(url), web);
    const polls = web.opened;
    const open: typeof web.open = (...call) => {
      if (polls.length === 2) web.with(url, built);
      return web.open(...call);
    };
    const { events } = await runStep(checkServedConfig, { ...run, web: { ...web, open } });
    const reported = events.flatMap((event) =>
      event.type === 'wait.updated' ? [event.status] : [],
    );
    expect(reported).toEqual([
      `${url} answered 500`,
      `osImageURL is stock, currentImage is not set, desiredImage is not set instead of ${masterImage}`,
    ]);
  });

  it('fails after twenty minutes of another image', async () => {
    const run = setting(pointerTo(url), fakeWeb().with(url, releaseImage));
    const { failure } = await tryStep(checkServedConfig, run);
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(run.clock.now()).toBe(minutes(20));
  });

  it('reads what is embedded', async () => {
    const run = setting(embedded(built));
    await runStep(checkServedConfig, run);
    expect(run.web.opened).toEqual([]);
    expect(run.clock.now()).toBe(0);
  });

  it.each([
    ['an Ignition that is gone', fakeHost(), 'image.file-missing'],
    [
      'an embedded config of no node',
      fakeHost().withFile(path, embedded('{}')),
      'ignition.encapsulated-missing',
    ],
    [
      'an embedded config of the release',
      fakeHost().withFile(path, embedded(releaseImage)),
      'layering.other-image-served',
    ],
  ])('does not wait for %s', async (_, host, code) => {
    const { failure } = await tryStep(checkServedConfig, { ...setting(''), host });
    expect(failure).toMatchObject({ code });
  });
});
