import { describe, expect, it } from 'vitest';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { disk, ran, writeFacts, writer, writingHost } from '../../../test/support/written-disk.ts';
import type { AgentError } from '../../model/failure.ts';
import {
  type ImageRelay,
  type RelayOutcome,
  type RelaySource,
  imageRelayFailure,
} from '../../ports/image-relay.ts';
import type { ChosenImage } from './facts.ts';
import { writeImage } from './write.ts';

const elsewhere: ChosenImage = {
  kind: 'url',
  url: 'https://m.example/a',
  source: 'config',
  because: '',
};

/** A relay that ends with this outcome and records its input. */
function relayEnding(outcome: Partial<RelayOutcome>) {
  const served: RelaySource[] = [];
  let closed = 0;
  const imageRelay: ImageRelay = {
    serve: (source) => {
      served.push(source);
      return Promise.resolve({
        url: 'http://127.0.0.1:4711/metal.raw.gz',
        outcome: () => ({ isAsked: true, bytes: 0, resumed: 0, ...outcome }),
        close: () => {
          closed += 1;
          return Promise.resolve();
        },
      });
    },
  };
  return { imageRelay, served, closed: () => closed };
}

describe('image/write', () => {
  it('streams an image from a URL through the relay', async () => {
    const { imageRelay, served, closed } = relayEnding({ sha256: 'a'.repeat(64) });
    const host = writingHost()
      .on(writer.argv('--image-url', 'http://127.0.0.1:4711/metal.raw.gz'))
      .prints('', writer.done);
    const image: ChosenImage = {
      kind: 'url',
      url: 'https://m.example/metal.raw.gz',
      source: 'config',
      sha256: 'a'.repeat(64),
      because: '',
    };
    const url = 'https://user:s3cretpw@m.example/metal.raw.gz?sig=abc';
    const { value, events } = await runStep(writeImage, {
      config: { image: { url } },
      host,
      facts: writeFacts(image),
      imageRelay,
    });
    expect(JSON.stringify(events)).not.toMatch(/s3cretpw|abc/);
    expect(value.sha256).toBe('a'.repeat(64));
    expect(served).toEqual([{ url, sha256: 'a'.repeat(64) }]);
    expect(closed()).toBe(1);
  });

  it('reads the stream again for the whole URL and fails when it has changed', async () => {
    const location = 'https://m.example/metal.raw.gz?sig=abc';
    const image: ChosenImage = {
      kind: 'url',
      url: 'https://m.example/metal.raw.gz',
      source: 'stream',
      because: '',
    };
    const { imageRelay, served } = relayEnding({ sha256: 'a'.repeat(64) });
    const streamOf = (address: string): string =>
      JSON.stringify({
        architectures: {
          x86_64: {
            artifacts: {
              metal: {
                formats: { raw: { disk: { location: address, sha256: 'a'.repeat(64) } } },
              },
            },
          },
        },
      });
    const host = writingHost()
      .withFile('/s.json', streamOf(location))
      .on(['uname', '-m'])
      .prints('x86_64')
      .on(['coreos-installer', rest])
      .prints('', writer.done);
    const run = {
      config: { image: { stream: '/s.json' } },
      host,
      facts: writeFacts(image),
      imageRelay,
    };
    await runStep(writeImage, run);
    expect(served).toEqual([{ url: location, tlsOnly: true }]);
    host.withFile('/s.json', streamOf('https://m.example/newer.raw.gz?sig=abc'));
    const { failure } = await tryStep(writeImage, run);
    expect(failure).toMatchObject({ code: 'image.stream-changed' });
    expect((failure as AgentError).context).toEqual({
      chosen: 'https://m.example/metal.raw.gz',
      now: 'https://m.example/newer.raw.gz',
    });
  });

  it('hides credentials in the arguments and the output of the writer', async () => {
    const url = 'https://user:s3cretpw@m.example/a?sig=abc';
    const args = ['--image-url', url];
    const host = writingHost()
      .on(writer.argv(...args))
      .fails(1, `Error: fetching '${url}'\n`);
    const { failure, events } = await tryStep(writeImage, {
      config: { image: { writerArgs: args } },
      host,
      facts: writeFacts({ kind: 'writer-args', because: '' }),
    });
    const { message, context, cause } = failure as AgentError;
    const reported = [message, context, String(cause), (cause as AgentError).context, events];
    expect(JSON.stringify(reported)).toContain('https://m.example/a');
    expect(JSON.stringify(reported)).not.toMatch(/s3cretpw|abc/);
  });

  it.each<[string, Partial<RelayOutcome>, string, object]>([
    [
      'the digest is wrong',
      { failure: imageRelayFailure('image.wrong-digest', 'another sha256') },
      'image.wrong-digest',
      {},
    ],
    ['the writer did not read the whole image', { bytes: 5 }, 'image.cut', { bytes: 5 }],
  ])('makes the disk unbootable when %s', async (_, outcome, code, context) => {
    const { imageRelay } = relayEnding(outcome);
    const host = writingHost().on(['coreos-installer', rest]).prints('', writer.done);
    const { failure } = await tryStep(writeImage, {
      host,
      facts: writeFacts(elsewhere),
      imageRelay,
    });
    expect(failure).toMatchObject({ code, kind: 'media', context });
    expect(ran(host).slice(-2)).toEqual([disk.zero, disk.wipe]);
  });

  it('fails with image.relay-unreachable when the writer never asked the relay', async () => {
    const { imageRelay } = relayEnding({ isAsked: false });
    const host = writingHost()
      .on(['coreos-installer', rest])
      .fails(1, "Error: fetching 'http://127…'");
    const { failure } = await tryStep(writeImage, {
      host,
      facts: writeFacts(elsewhere),
      imageRelay,
    });
    expect(failure).toMatchObject({ code: 'image.relay-unreachable' });
  });
});
