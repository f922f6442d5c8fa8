import { join } from 'node:path/posix';
import { gzipSync } from 'node:zlib';
import { defaultTextMapGetter, ROOT_CONTEXT } from '@opentelemetry/api';
import {
  ExportResultCode,
  setGlobalErrorHandler,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Sink } from '../../engine/events.ts';
import { percentDecoded } from '../../lib/shown-url.ts';
import { seconds } from '../../model/duration.ts';
import { version } from '../../model/version.ts';
import { systemClock } from '../clock.ts';
import type { Connection } from '../http/connection.ts';
import { drain, exchange } from '../http/exchange.ts';
import { runSpans } from './run-spans.ts';

/** Where spans go, and what is said of all of them. */
export interface TracesOptions {
  /** The TRACEPARENT of who started the run, and its TRACESTATE. */
  readonly parent: Readonly<Record<'traceparent' | 'tracestate', string | undefined>>;
  /** Attributes of the resource beside the name and version of the program. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Of all signals, or of spans alone, as the variables say. */
  readonly endpoint: URL;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The connections of every other request, with its proxies and its trust. */
  readonly connection: Connection;
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
export function openTraces(options: TracesOptions): Traces {
  const { parent, attributes, onLost } = options;
  const lost = once(onLost);
  setGlobalErrorHandler((error) => {
    lost(reasonOf(error));
  });
  const exporter = exporterBy(options);
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

/**
 * Sends batches as the standard variables say, over the connections of every other request (OpenTelemetry specification,
 * "OTLP Exporter Configuration": those of spans win; headers are written as W3C baggage).
 */
function exporterBy({ endpoint, environment, connection }: TracesOptions): SpanExporter {
  const named = (name: string): readonly string[] =>
    ['', 'TRACES_'].map((signal) => environment[`OTEL_EXPORTER_OTLP_${signal}${name}`] ?? '');
  const [, ownEndpoint] = named('ENDPOINT');
  const url = new URL(endpoint);
  if (ownEndpoint === '') url.pathname = join(url.pathname, 'v1/traces');
  const isPacked = named('COMPRESSION').findLast((word) => word !== '') === 'gzip';
  const headers = {
    ...Object.fromEntries(named('HEADERS').flatMap(headersIn)),
    'Content-Type': 'application/x-protobuf',
    ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
  };
  const send = async (spans: ReadableSpan[]): Promise<void> => {
    const bytes = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
    const body = isPacked ? gzipSync(bytes) : Buffer.from(bytes);
    const question = { method: 'POST', url, headers, body } as const;
    const limit = AbortSignal.timeout(batchLimit);
    const reach = { connection, clock: systemClock };
    const { answer, networkError } = await exchange(reach, question, limit);
    if (answer === undefined) throw new Error(`the collector: ${networkError.words}`);
    await drain(answer.body);
    if (answer.status > 299) throw new Error(`the collector answered ${answer.status}`);
  };
  return {
    export: (spans, done) => {
      send(spans).then(
        () => {
          done({ code: ExportResultCode.SUCCESS });
        },
        (error: unknown) => {
          done({ code: ExportResultCode.FAILED, error: error as Error });
        },
      );
    },
    shutdown: () => Promise.resolve(),
  };
}

const headersIn = (list: string): readonly (readonly [string, string])[] =>
  list.split(/[,;]/).flatMap((entry) => {
    const [name = '', ...value] = entry.split('=');
    const isHeader = value.length > 0 && name.trim() !== '';
    return isHeader ? [[name.trim(), percentDecoded(value.join('=').trim())] as const] : [];
  });

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : JSON.stringify(error);

function once(call: (reason: string) => void): (reason: string) => void {
  let isCalled = false;
  return (reason) => {
    if (!isCalled) call(reason);
    isCalled = true;
  };
}
