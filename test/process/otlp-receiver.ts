import protobuf from 'protobufjs';
import { startMockServer } from '../../mocks/http/mock-server.ts';

// The messages of opentelemetry-proto 1.x that a client of traces sends (trace_service.proto, trace.proto, common.proto,
// resource.proto); names and numbers are theirs.
const { root } = protobuf.parse(`
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message InstrumentationScope { string name = 1; string version = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
  string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
  repeated Event events = 11; uint32 dropped_events_count = 12;
  repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; fixed32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`);
const Request = root.lookupType('ExportTraceServiceRequest');

/** A span that was received. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty of the first of a trace. */
  readonly parentSpanId: string;
  /** 2 where it is an error. */
  readonly statusCode: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  /** Of the resource that it is of. */
  readonly resource: Attributes;
  readonly milliseconds: number;
}

type Attributes = Readonly<Record<string, unknown>>;

/** A collector of traces on loopback, by OTLP over HTTP. */
export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** The bodies as they came, to look for what must not be in them. */
  readonly bodies: Buffer[];
}

/**
 * Starts a collector; `hangs` takes requests and never answers.
 * @throws what does not decode as the request that it is
 */
export async function startOtlpReceiver({ hangs = false } = {}): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const { url, close } = await startMockServer({
    answer: async (request) => {
      const body = Buffer.from(await request.arrayBuffer());
      bodies.push(body);
      if (hangs) await new Promise(() => undefined);
      const isRight =
        new URL(request.url).pathname === '/v1/traces' &&
        request.headers.get('content-type') === 'application/x-protobuf';
      if (isRight) spans.push(...spansIn(body));
      return new Response(null, { status: isRight ? 200 : 404 });
    },
  });
  return { url, spans, bodies, [Symbol.asyncDispose]: close };
}

interface WireValue {
  readonly key: string;
  readonly value?: Readonly<Record<string, unknown>>;
}

interface WireSpan {
  readonly [name: string]: unknown;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly WireValue[];
  readonly events?: readonly {
    readonly name: string;
    readonly attributes?: readonly WireValue[];
  }[];
  readonly status?: { readonly code?: number };
}

interface WireRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly WireValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

function spansIn(body: Uint8Array): readonly ReceivedSpan[] {
  const { resourceSpans } = Request.toObject(Request.decode(body), {
    longs: String,
    bytes: String,
  }) as WireRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => receivedSpan(span, attributesOf(resource?.attributes))),
    ),
  );
}

const hex = (base64 = ''): string => Buffer.from(base64, 'base64').toString('hex');

function receivedSpan(span: WireSpan, resource: Attributes): ReceivedSpan {
  const { name, traceId, spanId, parentSpanId, status, attributes, events = [] } = span;
  return {
    name,
    resource,
    traceId: hex(traceId),
    spanId: hex(spanId),
    parentSpanId: hex(parentSpanId),
    statusCode: status?.code ?? 0,
    attributes: attributesOf(attributes),
    events: events.map((event) => ({
      name: event.name,
      attributes: attributesOf(event.attributes),
    })),
    milliseconds: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
  };
}

const attributesOf = (values: readonly WireValue[] = []): Attributes =>
  Object.fromEntries(values.map(({ key, value }) => [key, Object.values(value ?? {})[0]]));
