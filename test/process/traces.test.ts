import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts';
import { singleIds } from '../../mocks/lab/single-host.ts';
import { cannotWrite, runUnder } from './faulty-run.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const starter = '00f067aa0ba902b7';
const token = 'token-of-the-test';

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined)
    throw new Error(`no span ${name} in ${spans.map((one) => one.name).join(', ')}`);
  return found;
};

describe('the spans of an install', () => {
  it('are one trace of who started it: the run, its steps, and their commands', async () => {
    await using collector = await startOtlpReceiver();
    const { exitCode } = await runUnder({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_RESOURCE_ATTRIBUTES: 'site=rack-7',
        TRACEPARENT: `00-${traceId}-${starter}-01`,
      },
    });
    expect(exitCode).toBe(0);
    const { spans, bodies } = collector;
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const run = named(spans, 'run master');
    expect(run).toMatchObject({
      parentSpanId: starter,
      attributes: { 'bootwright.run.outcome': 'left the host', 'bootwright.run.resumed': false },
      resource: {
        'service.name': 'bootwright',
        'bootwright.role': 'master',
        'bootwright.cluster.id': singleIds.cluster,
        'bootwright.host.id': singleIds.host,
        site: 'rack-7',
      },
    });
    expect(run.events.map(({ name }) => name)).toContain('report.sent');
    const write = named(spans, 'image/write');
    expect(write.parentSpanId).toBe(run.spanId);
    expect(write.milliseconds).toBeGreaterThanOrEqual(300);
    expect(named(spans, 'coreos-installer')).toMatchObject({
      parentSpanId: write.spanId,
      attributes: { 'process.exit.code': '0' },
    });
    for (const body of bodies) expect(body.includes(token)).toBe(false);
  });

  it('have the code of what failed', async () => {
    await using collector = await startOtlpReceiver();
    const { exitCode } = await runUnder({
      before: cannotWrite,
      env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` },
    });
    expect(exitCode).not.toBe(0);
    for (const name of ['image/write', 'run master']) {
      expect(named(collector.spans, name)).toMatchObject({
        statusCode: 2,
        attributes: { 'error.type': expect.stringMatching(/^[a-z-]+\.[a-z-]+$/) as string },
      });
    }
    const retries = named(collector.spans, 'image/write').events.filter(
      ({ name }) => name === 'retrying',
    );
    expect(retries).toHaveLength(2);
  });

  it('go by the proxy that every other request goes by', async () => {
    await using collector = await startOtlpReceiver();
    const asked: string[] = [];
    const proxy = createServer((asking, answer) => {
      const { method, headers, url = '' } = asking;
      asked.push(url);
      const onward = request(collector.url, { method, headers, path: new URL(url).pathname });
      onward.on('response', (answered) => {
        answer.writeHead(answered.statusCode ?? 500);
        answered.pipe(answer);
      });
      asking.pipe(onward);
    });
    await new Promise<void>((resolve) => {
      proxy.listen(0, '127.0.0.1', resolve);
    });
    const { port } = proxy.address() as AddressInfo;
    const { exitCode } = await runUnder({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example.test:4318',
        http_proxy: `http://127.0.0.1:${port}`,
      },
    });
    proxy.closeAllConnections();
    proxy.close();
    expect(exitCode).toBe(0);
    expect(new Set(asked)).toEqual(new Set(['http://collector.example.test:4318/v1/traces']));
    named(collector.spans, 'run master');
  });
});

describe('a collector', () => {
  it.each([
    ['that is not there', () => Promise.resolve('http://127.0.0.1:9'), 'traces/send'],
    ['whose address is none', () => Promise.resolve('collector:4317'), 'not an http'],
  ])('%s costs a warning', async (_, endpoint, warning) => {
    const { exitCode, log } = await runUnder({
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: await endpoint() },
    });
    expect(exitCode).toBe(0);
    expect(log).toContain(warning);
  });

  it('that never answers is given up', async () => {
    await using collector = await startOtlpReceiver({ hangs: true });
    const { exitCode } = await runUnder({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    expect(exitCode).toBe(0);
    expect(collector.bodies.length).toBeGreaterThan(0);
  });
});
