import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connection } from '../../src/adapters/http/connection.ts';
import { openTraces } from '../../src/adapters/tracing/otlp.ts';
import { startServer, type TestServer } from './real/http-server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startServer((_, response) => void response.end());
});
afterEach(() => server.close());

/** Sends the span of a run that has ended; gives what is said of spans that were not taken. */
async function send(
  path: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const lost: string[] = [];
  const connected = connection();
  const traces = openTraces({
    endpoint: new URL(`${server.url}${path}`),
    environment,
    connection: connected,
    parent: { traceparent: undefined, tracestate: undefined },
    attributes: {},
    onLost: (reason) => lost.push(reason),
  });
  const common = { at: 1, run: 'r' };
  const started = { role: 'master', version: '1', isResumed: false, steps: 1 };
  traces.sink({ ...common, type: 'run.started', ...started });
  traces.sink({ ...common, type: 'run.finished', outcome: 'finished', duration: 1 });
  await traces.flush();
  await connected.close();
  return lost;
}

describe('spans are sent as the standard variables say', () => {
  it.each<[string, string, Readonly<Record<string, string>>]>([
    ['/base/', '/base/v1/traces', {}],
    ['/of-traces', '/of-traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'set' }],
  ])('to %s as %s', async (path, asked, environment) => {
    expect(await send(path, environment)).toEqual([]);
    expect(server.seen.map((seen) => `${seen.method} ${seen.path}`)).toEqual([`POST ${asked}`]);
    expect(server.seen[0]?.headers['content-type']).toBe('application/x-protobuf');
  });

  it('with headers, those of spans before the others', async () => {
    await send('', {
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b, tenant = one ,bad=%zz',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'tenant=two',
    });
    expect(server.seen[0]?.headers).toMatchObject({ 'api-key': 'a b', tenant: 'two', bad: '%zz' });
  });

  it('compressed', async () => {
    await send('', { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' });
    expect(server.seen[0]?.headers['content-encoding']).toBe('gzip');
  });
});

it('spans that a collector does not take are lost, and it is said why', async () => {
  server.answering((_, response) => void response.writeHead(403).end());
  expect(await send('')).toEqual(['the collector answered 403']);
});
