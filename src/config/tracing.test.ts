import { describe, expect, it } from 'vitest';
import { tracesEndpointOf } from './environment.ts';

const general = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/v1/traces' };

describe('where spans go', () => {
  it.each([
    ['without an endpoint', {}, { kind: 'none' }],
    ['with an empty one', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, { kind: 'none' }],
    ['with one for everything', general, { kind: 'http', url: new URL('http://collector:4318') }],
    [
      'with one of their own beside it',
      { ...general, ...own },
      { kind: 'http', url: new URL('https://traces.example.com/v1/traces') },
    ],
    ['where the SDK is off', { ...general, OTEL_SDK_DISABLED: 'true' }, { kind: 'none' }],
    ['where traces are off', { ...general, OTEL_TRACES_EXPORTER: 'none' }, { kind: 'none' }],
    [
      'by gRPC',
      { ...general, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      { kind: 'refused', why: 'the protocol is grpc; only http/protobuf is spoken' },
    ],
    [
      'by HTTP, where gRPC is for other signals',
      {
        ...general,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      },
      { kind: 'http', url: new URL('http://collector:4318') },
    ],
    [
      'with a password that is not escaped',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:p@ss#w@collector:4318' },
      {
        kind: 'refused',
        why: 'escape @ as %40, # as %23, ? as %3F in its user and password',
      },
    ],
    [
      'without a scheme',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      { kind: 'refused', why: 'the endpoint is not an http(s) URL' },
    ],
  ])('%s', (_, environment, expected) => {
    expect(tracesEndpointOf(environment)).toEqual(expected);
  });
});
