import type { Agent } from 'node:http';
import { defaultTextMapGetter, ROOT_CONTEXT } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Sink } from '../../engine/events.ts';
import { seconds } from '../../model/duration.ts';
import { version } from '../../model/version.ts';
import { runSpans } from './run-spans.ts';

/** Where spans go, and what is said of all of them. */
export interface TracesOptions {
  /** The SDK reads it from the environment too; here it says by which connection. */
  readonly endpoint: URL;
  /** The TRACEPARENT of who started the run, and its TRACESTATE. */
  readonly parent: Readonly<Record<'traceparent' | 'tracestate', string | undefined>>;
  /** Attributes of the resource beside the name and version of the program. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The connections of every other request, with its proxies and its trust. */
  readonly agentFor: (url: URL) => Promise<Agent>;
  /** Called once, when spans were not taken. */
  readonly onLost: (reason: string) => void;
}

/** The spans of a run on their way to a collector. */
export interface Traces {
  readonly sink: Sink;
  /** Sends the spans that have ended; resolves after two seconds at the latest, and never rejects. */
  readonly flush: () => Promise<void>;
}

/**
 * What one batch may take, further attempts included. Then it is dropped: a collector that does not answer holds neither the
 * memory of the program nor its end.
 */
const batchLimit = seconds(2);

/** Opens the way to a collector by the SDK's own variables. No connection is opened before its first batch. */
export function openTraces({
  endpoint,
  parent,
  attributes,
  agentFor,
  onLost,
}: TracesOptions): Traces {
  const lost = once(onLost);
  setGlobalErrorHandler((error) => {
    lost(reasonOf(error));
  });
  const exporter = new OTLPTraceExporter({
    timeoutMillis: batchLimit,
    httpAgentOptions: () => agentFor(endpoint),
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'bootwright', 'service.version': version })
      .merge(resourceFromAttributes(attributes))
      // Who sets OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES has the last word.
      .merge(
        detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }),
      ),
    spanLimits: { attributeValueLengthLimit: 1000 },
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: batchLimit })],
  });
  const context = new W3CTraceContextPropagator().extract(
    ROOT_CONTEXT,
    parent,
    defaultTextMapGetter,
  );
  return {
    sink: runSpans(provider.getTracer('bootwright', version), context),
    flush: () =>
      provider.forceFlush({ timeoutMillis: batchLimit }).catch((errors: unknown) => {
        const [error] = errors as readonly unknown[];
        lost(reasonOf(error));
      }),
  };
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : JSON.stringify(error);

function once(call: (reason: string) => void): (reason: string) => void {
  let isCalled = false;
  return (reason) => {
    if (!isCalled) call(reason);
    isCalled = true;
  };
}
