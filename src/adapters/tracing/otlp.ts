import {
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Attributes,
  type Context,
  type Span,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
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
import { posix } from 'node:path';
import { join } from 'node:path/posix';
import { gzipSync } from 'node:zlib';
import type { Sink, FailureReport, RunEvent } from '../../engine/events.ts';
import { percentDecoded } from '../../lib/shown-url.ts';
import { seconds } from '../../model/duration.ts';
import { version } from '../../model/version.ts';
import { systemClock } from '../clock.ts';
import type { Connection } from '../http/connection.ts';
import { drain, exchange } from '../http/exchange.ts';

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
  /**
   * Sends the spans that have ended; resolves after two seconds at the latest, and never rejects.
   */
  readonly flush: () => Promise<void>;
}

/**
 * What one batch may take, further attempts included. Then it is dropped: a collector that does not
 * answer holds neither the memory of the program nor its end.
 */
const batchLimit = seconds(2);

/**
 * Opens the way to a collector by the SDK's own variables. No connection is opened before its first
 * batch.
 */
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
 * Sends batches as the standard variables say, over the connections of every other request
 * (OpenTelemetry specification, "OTLP Exporter Configuration": those of spans win; headers are
 * written as W3C baggage).
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

/**
 * Makes spans of the events of one run: the run, in it its steps, in each its waits, and commands.
 * Their names are of few kinds; what is said of one run is in attributes. Attributes hold what the
 * events hold, which is masked, and of commands the program alone.
 *
 * @param parent where the run belongs, by the TRACEPARENT of who started it
 */
function runSpans(tracer: Tracer, parent: Context): Sink {
  const spans: OpenSpans = { tracer, parent, run: undefined, steps: new Map(), waits: new Map() };
  return (event) => {
    if (event.type === 'run.started') startRun(spans, event);
    else if (spans.run !== undefined) take(spans, spans.run, event);
  };
}

/** A span with the context of those below it. */
interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
}

interface OpenSpans {
  readonly tracer: Tracer;
  readonly parent: Context;
  run: OpenSpan | undefined;
  readonly steps: Map<string, OpenSpan>;
  /** By the step that waits. */
  readonly waits: Map<string, OpenSpan>;
}

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>;

interface NewSpan {
  readonly name: string;
  readonly startTime: number;
  readonly attributes: Attributes;
}

function open({ tracer }: OpenSpans, context: Context, { name, ...how }: NewSpan): OpenSpan {
  const span = tracer.startSpan(name, how, context);
  return { span, context: trace.setSpan(context, span) };
}

function startRun(
  spans: OpenSpans,
  { role, isResumed, steps, at, run }: EventOf<'run.started'>,
): void {
  spans.run = open(spans, spans.parent, {
    name: `run ${role}`,
    startTime: at,
    attributes: {
      'bootwright.run.id': run,
      'bootwright.run.resumed': isResumed,
      'bootwright.run.steps': steps,
    },
  });
}

type Takers = {
  readonly [Type in RunEvent['type']]?: (
    spans: OpenSpans,
    run: OpenSpan,
    event: EventOf<Type>,
  ) => void;
};

const takers: Takers = {
  'step.started': startStep,
  'step.retrying': ({ steps }, _run, { step, failure, attempt, at }) => {
    const attributes = { ...failureAttributes(failure), 'bootwright.attempt': attempt };
    steps.get(step)?.span.addEvent('retrying', attributes, at);
  },
  'step.finished': (spans, _run, event) => {
    endStep(spans, event);
  },
  'step.failed': (spans, _run, event) => {
    const { span } = spans.steps.get(event.step) ?? {};
    if (span !== undefined) fail(span, event.failure);
    endStep(spans, event);
  },
  'step.stopped': (spans, _run, event) => {
    spans.steps.get(event.step)?.span.setAttribute('bootwright.step.stopped', true);
    endStep(spans, event);
  },
  'step.skipped': recordStep,
  'step.reused': recordStep,
  'wait.updated': updateWait,
  'wait.finished': ({ waits }, _run, { step, isReached, at }) => {
    waits.get(step)?.span.setAttribute('bootwright.wait.reached', isReached).end(at);
    waits.delete(step);
  },
  'command.finished': recordCommand,
  'report.sent': recordReport,
  'report.dropped': recordReport,
  'run.finished': (spans, run, { outcome, at }) => {
    endRun(spans, run, { outcome, at });
  },
  'run.stopped': (spans, run, { at }) => {
    endRun(spans, run, { outcome: 'stopped', at });
  },
  'run.failed': (spans, run, { failure, at }) => {
    fail(run.span, failure);
    endRun(spans, run, { outcome: 'failed', at });
  },
};

function take(spans: OpenSpans, run: OpenSpan, event: RunEvent): void {
  const taker = takers[event.type] as
    ((spans: OpenSpans, run: OpenSpan, event: RunEvent) => void) | undefined;
  taker?.(spans, run, event);
}

function recordStep(
  _spans: OpenSpans,
  { span }: OpenSpan,
  { type, step, at }: EventOf<'step.skipped' | 'step.reused'>,
): void {
  span.addEvent(type, { 'bootwright.step': step }, at);
}

function recordReport(
  _spans: OpenSpans,
  { span }: OpenSpan,
  { type, stage, at }: EventOf<'report.sent' | 'report.dropped'>,
): void {
  span.addEvent(type, { 'bootwright.stage': stage }, at);
}

function startStep(
  spans: OpenSpans,
  run: OpenSpan,
  { step, title, lane, attempt, at }: EventOf<'step.started'>,
): void {
  const opened = spans.steps.get(step);
  if (opened !== undefined) {
    opened.span.addEvent('attempt', { 'bootwright.attempt': attempt }, at);
    return;
  }
  const attributes = {
    'bootwright.step': step,
    'bootwright.step.title': title,
    ...(lane === undefined ? {} : { 'bootwright.lane': lane }),
  };
  spans.steps.set(step, open(spans, run.context, { name: step, startTime: at, attributes }));
}

function endStep(
  { steps, waits }: OpenSpans,
  { step, at }: { readonly step: string; readonly at: number },
): void {
  waits.get(step)?.span.end(at);
  waits.delete(step);
  steps.get(step)?.span.end(at);
  steps.delete(step);
}

function updateWait(
  spans: OpenSpans,
  run: OpenSpan,
  { step, sentence, status, waited, limit, at }: EventOf<'wait.updated'>,
): void {
  const known = spans.waits.get(step);
  const opened =
    known ??
    open(spans, (spans.steps.get(step) ?? run).context, {
      name: `wait ${step}`,
      startTime: at - waited,
      attributes: { 'bootwright.wait': sentence, 'bootwright.wait.limit_ms': limit },
    });
  spans.waits.set(step, opened);
  opened.span.addEvent('missing', { 'bootwright.wait.status': status }, at);
}

/**
 * Events of commands name no step: where several run beside each other, a command is one of the
 * run.
 */
function recordCommand(
  spans: OpenSpans,
  run: OpenSpan,
  { argv, exitCode, duration, at }: EventOf<'command.finished'>,
): void {
  const [only, ...others] = spans.steps.values();
  const { context } = others.length === 0 && only !== undefined ? only : run;
  const program = posix.basename(argv[0] ?? '');
  const attributes = {
    'process.executable.name': program,
    ...(exitCode === undefined ? {} : { 'process.exit.code': exitCode }),
  };
  open(spans, context, { name: program, startTime: at - duration, attributes }).span.end(at);
}

function endRun(
  { waits, steps }: OpenSpans,
  run: OpenSpan,
  { outcome, at }: { readonly outcome: string; readonly at: number },
): void {
  run.span.setAttribute('bootwright.run.outcome', outcome);
  for (const { span } of [...waits.values(), ...steps.values(), run]) span.end(at);
  waits.clear();
  steps.clear();
}

const failureAttributes = ({ code, kind }: FailureReport): Attributes => ({
  'error.type': code,
  'bootwright.error.kind': kind,
});

function fail(span: Span, failure: FailureReport): void {
  span.setAttributes(failureAttributes(failure));
  span.setStatus({ code: SpanStatusCode.ERROR, message: `${failure.code}: ${failure.message}` });
}
