import type { Environment } from './environment.ts';
import { isUnescaped } from '../lib/shown-url.ts';
import { goBoolean } from './read-value.ts';

/** Where spans go; or why they go nowhere although an endpoint is named. */
export type TracesEndpoint =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'http'; readonly url: URL };

/**
 * Where the standard variables send spans (OpenTelemetry specification, "OTLP Exporter Configuration"). They may be meant for all
 * programs of a machine, so that one which we cannot follow is no mistake of the install.
 */
export function tracesEndpointOf(environment: Environment): TracesEndpoint {
  const [endpoint, protocol] = ['ENDPOINT', 'PROTOCOL'].map(
    (name) =>
      (environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] ?? '') ||
      (environment[`OTEL_EXPORTER_OTLP_${name}`] ?? ''),
  ) as [string, string];
  const isOff =
    goBoolean(environment['OTEL_SDK_DISABLED'] ?? '') === true ||
    environment['OTEL_TRACES_EXPORTER'] === 'none';
  if (endpoint === '' || isOff) return { kind: 'none' };
  if (protocol === 'grpc') {
    return { kind: 'refused', why: 'the protocol is grpc; only http/protobuf is spoken' };
  }
  if (isUnescaped(endpoint, 'server')) {
    return { kind: 'refused', why: 'escape @ as %40, # as %23, ? as %3F in its user and password' };
  }
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    return { kind: 'refused', why: 'the endpoint is not an http(s) URL' };
  }
  return { kind: 'http', url: new URL(endpoint) };
}
